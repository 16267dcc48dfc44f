// SPDX-License-Identifier: Apache-2.0
// The run: launches clusters as others leave, and lets chance decide which split or asynchronous
// operation goes on. splits.cpp executes; this file schedules.
#include "vgpu/machine/simulation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vgpu/asynchronous/wgmma.h"
#include "vgpu/timing/timeline.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint64_t parameter_alignment = 256;
// As of sm_90 and sm_100, the reserved KiB included.
constexpr std::uint32_t most_shared_bytes = 233472;

}  // namespace

Simulation::Simulation(const Program& program, const LaunchRequest& request, GlobalMemory& memory,
                       const RunOptions& options)
    : program_(program),
      request_(request),
      memory_(memory),
      options_(options),
      findings_(program, options_, request.seed),
      random_(static_cast<std::uint32_t>(request.seed)),
      junk_(request.seed),
      threads_(static_cast<std::uint32_t>(request.block.count())) {
  cluster_size_ = request.cluster_size        ? request.cluster_size
                  : program.info.cluster_size ? program.info.cluster_size
                                              : 1;
  validate_launch();
  clusters_end_ = request.grid.count() / cluster_size_;
  ctas_before_dependents_ = request.grid.count();
  if (options.clocks) global_shadow_.enable(program.global_granule);
  if (options.coverage) executed_.resize(program.code.size());
  if (options.adversarial) {
    // Seeds differ in how eagerly asynchronous work completes, how often warps are switched and how
    // often waits return for no reason.
    static constexpr double eagerness[] = {0.02, 0.1, 0.3, 0.6, 0.003};
    async_eagerness_ = eagerness[request.seed % std::size(eagerness)];
    quantum_ = 1u << request.seed % 9;
    spurious_failures_ = request.seed % 3 == 0 ? 0.4 : 0.02;
    if (request.seed % 3 == 0) starved_ = request.seed / 3 % (threads_ / warp_lanes + 1);
  }
  // Parameters can be addressed (cvta.param), away from everything else.
  parameter_window_ = memory.allocate(request.parameters.size(), parameter_alignment);
  parameter_block_ = memory.find(parameter_window_);
  if (parameter_block_) {
    std::memcpy(parameter_block_->host(parameter_window_), request.parameters.data(),
                request.parameters.size());
    parameter_block_->mark_initialised(parameter_window_, request.parameters.size());
  }
}

Simulation::~Simulation() {
  memory_.free(parameter_window_);
}

void Simulation::validate_launch() const {
  const KernelInfo& info = program_.info;
  const std::uint64_t threads = request_.block.count();
  auto require = [&](bool condition, const std::string& what) {
    if (!condition) throw LaunchError(info.name + ": " + what);
  };
  require(request_.grid.count() > 0 && threads > 0, "empty grid or block");
  require(threads <= 1024 && (info.max_threads == 0 || threads <= info.max_threads),
          "more threads than the kernel allows");
  require(info.cluster_size == 0 || info.cluster_size == cluster_size_,
          "not the kernel's cluster size");
  require(cluster_size_ <= 16 && request_.grid.x % cluster_size_ == 0,
          "grid.x is no multiple of the cluster size");
  require(program_.dynamic_shared + request_.dynamic_shared_bytes <= most_shared_bytes,
          "too much shared memory");
  require(request_.parameters.size() == info.parameter_bytes, "wrong size of parameters");
}

bool Simulation::can_launch() const {
  const std::uint64_t most = std::max(options_.concurrent_ctas / cluster_size_, 1u);
  return clusters_started_ < clusters_end_ && clusters_resident_ < most;
}

void Simulation::launch_cluster(std::uint64_t number, std::uint32_t place) {
  ++clusters_resident_;
  auto cluster = std::make_unique<Cluster>(static_cast<std::uint32_t>(number), cluster_size_);
  cluster->live_threads = threads_ * cluster_size_;
  cluster->live_ctas = cluster_size_;
  const std::uint32_t shared_bytes =
      (program_.dynamic_shared + request_.dynamic_shared_bytes + 15) / 16 * 16;
  for (std::uint32_t rank = 0; rank < cluster_size_; ++rank) {
    cluster->ctas.push_back(std::make_unique<Cta>(
        *this, *cluster, rank, number * cluster_size_ + rank, shared_bytes, threads_));
    if (timeline_) timeline_->add(*cluster->ctas.back(), place);
    for (const auto& warp : cluster->ctas.back()->warps) wake(new_split(*warp, warp->live, 0, -1));
  }
  clusters_.push_back(std::move(cluster));
}

void Simulation::retire_finished_clusters() {
  auto is_finished = [&](const std::unique_ptr<Cluster>& cluster) {
    return cluster->live_ctas == 0 &&
           std::none_of(tasks_.begin(), tasks_.end(),
                        [&](const auto& task) { return task->belongs_to(*cluster); });
  };
  clusters_.erase(std::remove_if(clusters_.begin(), clusters_.end(), is_finished), clusters_.end());
}

void Simulation::schedule(const std::shared_ptr<AsyncTask>& task) {
  if (task->scheduled_) return;
  task->scheduled_ = true;
  tasks_.push_back(task);
  if (timeline_) timeline_->start(task);
}

void Simulation::wake(Split* split) {
  if (timeline_) return timeline_->wake(split);
  split->sleeps_on = nullptr;
  if (split->ready_index >= 0) return;
  split->ready_index = static_cast<int>(ready_.size());
  ready_.push_back(split);
}

void Simulation::wake_all(std::vector<Split*>& splits) {
  std::vector<Split*> woken;
  woken.swap(splits);
  for (Split* split : woken) wake(split);
}

void Simulation::unschedule(Split* split) {
  if (split->ready_index < 0 || timeline_) return;
  Split* last = ready_.back();
  ready_[split->ready_index] = last;
  last->ready_index = split->ready_index;
  ready_.pop_back();
  split->ready_index = -1;
}

void Simulation::sleep(Split* split, const char* on, std::uint32_t at) {
  split->sleeps_on = on;
  split->sleeps_at = at;
}

// One split runs for a while, or one asynchronous operation does some of its work.
void Simulation::decide() {
  if (instructions_ > options_.max_warp_instructions)
    findings_.fatal("livelock", "the budget of instructions is spent", nullptr);
  const auto pick = [&](std::size_t count, std::size_t otherwise) {
    return options_.adversarial ? random(static_cast<std::uint32_t>(count)) : otherwise;
  };
  if (tasks_.empty() || (!ready_.empty() && !chance(async_eagerness_))) {
    Split* split = ready_[pick(ready_.size(), 0)];
    for (int i = 0; i < 10 && split->warp->index == starved_; ++i)
      split = ready_[pick(ready_.size(), 0)];
    execute(split);
  } else {
    const std::shared_ptr<AsyncTask> task = tasks_[pick(tasks_.size(), tasks_.size() - 1)];
    ++async_events_;
    if (!task->step()) {
      task->scheduled_ = false;
      tasks_.erase(std::find(tasks_.begin(), tasks_.end(), task));
    }
  }
  if (clusters_.size() > clusters_resident_) retire_finished_clusters();
}

Simulation::State Simulation::advance(std::uint32_t decisions) {
  try {
    const bool was_alone = !lets_dependents_begin();
    for (; decisions > 0 && !is_over_; --decisions) {
      if (was_alone && lets_dependents_begin()) break;
      while (can_launch()) launch_cluster(clusters_started_++);
      if (!ready_.empty() || !tasks_.empty())
        decide();
      else if (!grid_sleepers_.empty())
        return State::waiting;
      else if (clusters_resident_ > 0)
        report_deadlock();
      else
        is_over_ = true;
    }
  } catch (const RunEnded&) {
    is_over_ = true;
  }
  return is_over_ ? State::over : State::going;
}

const std::vector<Finding>& Simulation::finish() {
  if (options_.statistics) *options_.statistics = {instructions_, async_events_};
  if (options_.coverage) note_coverage();
  return findings_.all();
}

void Simulation::note_coverage() {
  auto& covered = *options_.coverage;
  for (std::size_t i = 0; i < executed_.size(); ++i) {
    if (!executed_[i]) continue;
    const auto line = static_cast<std::size_t>(program_.code[i].line);
    if (covered.size() <= line) covered.resize(line + 1);
    covered[line] = true;
  }
}

// From either end: the order of CTAs is nobody's promise.
std::optional<std::uint64_t> Simulation::cancel_cluster() {
  if (timeline_) return timeline_->next_cluster();
  if (clusters_started_ == clusters_end_) return std::nullopt;
  ctas_before_dependents_ -= cluster_size_;
  return options_.adversarial && chance(0.5) ? --clusters_end_ : clusters_started_++;
}

void Simulation::prerequisites_are_over() {
  prerequisites_over_ = true;
  wake_all(grid_sleepers_);
}

bool Simulation::waits_for_prerequisites(Split* split) {
  if (!has_prerequisites_ || prerequisites_over_) return false;
  grid_sleepers_.push_back(split);
  sleep(split, "the grids before this one, of which there are", 1);
  return true;
}

void Simulation::let_dependents_begin(Cta& cta) {
  if (!std::exchange(cta.lets_dependents_begin, true)) --ctas_before_dependents_;
}

void Simulation::report_deadlock() {
  constexpr int most_splits = 16;
  std::string text = "no thread can go on and nothing asynchronous is pending";
  int count = 0;
  const Instruction* first = nullptr;
  for (const auto& cluster : clusters_)
    for (const auto& cta : cluster->ctas)
      for (const auto& warp : cta->warps)
        for (const auto& split : warp->splits) {
          if (split->dead || ++count > most_splits) continue;
          const Instruction& instruction = program_.code[split->pc];
          if (!first) first = &instruction;
          text += "\n    " + warp->name() + " lanes " + hexadecimal(split->mask) +
                  " at ptx:" + std::to_string(instruction.line) + " " +
                  program_.opcode(instruction);
          if (split->sleeps_on)
            text += ", waits for " + std::string(split->sleeps_on) + " " +
                    hexadecimal(split->sleeps_at);
          else
            text += ", waits for other lanes of its warp";
        }
  if (count > most_splits) text += "\n    and " + std::to_string(count - most_splits) + " more";
  for (const auto& cluster : clusters_)
    for (const auto& cta : cluster->ctas)
      for (const auto& [offset, barrier] : cta->mbarriers) {
        if (!barrier.valid || barrier.sleepers.empty()) continue;
        text += "\n    mbarrier " + hexadecimal(offset) + " of CTA " + std::to_string(cta->index) +
                ": phase " + std::to_string(barrier.phase) + ", " +
                std::to_string(barrier.pending) + " of " + std::to_string(barrier.expected) +
                " arrivals and " + std::to_string(barrier.transactions) + " bytes pending";
      }
  findings_.fatal("deadlock", text, first);
}

std::string Simulation::entity_name(const Warp& observer, Entity entity) const {
  using Kind = Cluster::EntityKind;
  const Cluster& cluster = observer.cta.cluster;
  if (entity == 0 || entity >= cluster.entities.size()) return "nobody";
  const auto& info = cluster.entities[entity];
  const std::string cta = "CTA " + std::to_string(cluster.ctas[info.rank]->index);
  const std::string number = std::to_string(info.number);
  switch (info.kind) {
    case Kind::prerequisites: return "the grids before";
    case Kind::warp: return cta + " warp " + number;
    case Kind::tensor_loads: return "tcgen05.ld of " + cta + " warp " + number;
    case Kind::copies: return "cp.async of " + cta + " warp " + number;
    case Kind::bulk: return "bulk stores of " + cta + " warp " + number;
    case Kind::mbarrier: return "mbarrier " + hexadecimal(info.number) + " of " + cta;
    case Kind::arrivals: return "arrivals of " + cta + " warp " + number;
    case Kind::wgmma: return "wgmma of " + cta + " warp " + number;
    case Kind::tensor_pipe: return "tcgen05.mma of " + cta;
    case Kind::cluster_barrier: return "the cluster barrier";
  }
  return "?";
}

void fail(const Warp& warp, const Instruction& instruction, const char* kind,
          const std::string& text) {
  warp.simulation.findings().fatal(kind, text, &instruction);
}

void require_whole_warp(const Warp& warp, const Instruction& instruction, LaneMask mask,
                        LaneMask whole) {
  if (mask != whole)
    fail(warp, instruction, "divergent",
         "lanes " + hexadecimal(mask) + " of " + hexadecimal(whole) +
             " execute an instruction of the whole warp");
}

Allocation* Simulation::allocation_of(std::uint64_t address, std::uint64_t bytes) {
  for (std::size_t i = 0; i < cached_allocations; ++i) {
    if (!cache_[i] || !cache_[i]->contains(address, bytes)) continue;
    if (i > 0) std::swap(cache_[i], cache_[i - 1]);  // what is used often moves to the front
    return cache_[i > 0 ? i - 1 : 0].get();
  }
  std::shared_ptr<Allocation> found = memory_.find(address);
  if (!found || !found->contains(address, bytes)) return nullptr;
  cache_.back() = std::move(found);
  return cache_.back().get();
}

std::byte* Simulation::global(std::uint64_t address, std::uint32_t bytes, bool writes,
                              const Instruction* instruction) {
  Allocation* allocation = allocation_of(address, bytes);
  if (!allocation || (writes && allocation == parameter_block_.get()))
    findings_.fatal("global-bounds",
                    std::string(writes ? "write" : "read") + " of " + std::to_string(bytes) +
                        " bytes at global " + hexadecimal(address) +
                        ", which is outside of every allocation",
                    instruction);
  if (writes) allocation->mark_initialised(address, bytes);
  return allocation->host(address);
}

void Simulation::check_initialised(std::uint64_t address, std::uint32_t bytes,
                                   const Instruction* instruction) {
  const Allocation* allocation = allocation_of(address, bytes);
  if (!timeline_ && allocation && !allocation->is_initialised(address, bytes))
    findings_.report(Finding::Severity::error, "uninitialised-global",
                     "read of " + std::to_string(bytes) + " bytes at global " +
                         hexadecimal(address) + " that were never written",
                     instruction);
}

Cta& Simulation::cta_at(Cta& from, std::uint32_t address, const Instruction* instruction) {
  const std::uint32_t rank = address >> rank_shift;
  if (rank >= from.cluster.ctas.size())
    findings_.fatal("shared-bounds",
                    "shared address " + hexadecimal(address) + " names no CTA of the cluster",
                    instruction);
  return *from.cluster.ctas[rank];
}

void Simulation::report_shared_bounds(const Cta& cta, std::uint32_t offset, std::uint32_t bytes,
                                      std::uint32_t alignment, const Instruction* instruction) {
  findings_.fatal("shared-bounds",
                  std::to_string(bytes) + " bytes (alignment " + std::to_string(alignment) +
                      ") at shared " + hexadecimal(offset) + " of " +
                      hexadecimal(cta.shared.size()),
                  instruction);
}

}  // namespace bwgemm::vgpu
