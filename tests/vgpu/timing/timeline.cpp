// SPDX-License-Identifier: Apache-2.0
// The queue and the grid: who goes on when, and which clusters stand for all.
#include "vgpu/timing/timeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace bwgemm::vgpu {

Timeline::Timeline(const Program& program, const LaunchRequest& request, const Constants& constants,
                   std::uint32_t ctas_per_sm, std::uint32_t cluster_size, const Misses* misses,
                   bool samples)
    : program_(program),
      constants_(constants),
      instructions_(instruction_times(program, constants)),
      misses_(misses),
      cluster_size_(cluster_size),
      places_(static_cast<std::uint32_t>(constants.sm_count) / cluster_size),
      slots_(ctas_per_sm),
      clusters_(request.grid.count() / cluster_size) {
  used_places_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(places_, clusters_));
  const double wanted = std::ceil(constants.sampled_sms / cluster_size);
  sampled_places_ =
      samples ? std::min(used_places_, static_cast<std::uint32_t>(wanted)) : used_places_;
  // Pairs of neighbours, but for an odd one.
  together_ = sampled_places_ < used_places_ && sampled_places_ % 2 == 0 ? 2 : 1;
  weight_ = static_cast<double>(used_places_) / sampled_places_;
  sms_.resize(std::size_t{sampled_places_} * cluster_size);
}

// Clusters spread evenly, as persistent kernels do with the tiles of an incomplete last wave.
std::vector<Timeline::Start> Timeline::first_clusters() const {
  std::vector<Start> starts;
  for (std::uint32_t slot = 0; slot < slots_; ++slot)
    for (std::uint32_t place = 0; place < sampled_places_; ++place) {
      const auto first = static_cast<std::uint64_t>(place / together_ * together_ * weight_);
      const std::uint64_t cluster =
          first / together_ * together_ + place % together_ + std::uint64_t{slot} * places_;
      if (cluster < clusters_) starts.push_back({cluster, place});
    }
  return starts;
}

std::optional<std::uint64_t> Timeline::next_cluster() {
  const std::uint64_t cluster = std::uint64_t{places_} * slots_ +
                                static_cast<std::uint64_t>(static_cast<double>(taken_) * weight_);
  if (cluster >= clusters_) return std::nullopt;
  ++taken_;
  return cluster;
}

double Timeline::start_cycles() const {
  return constants_.cta_start_cycles + (cluster_size_ > 1 ? constants_.cluster_cycles : 0);
}

void Timeline::add(Cta& cta, std::uint32_t place) {
  cta.place = place * cluster_size_ + cta.rank;
  for (const auto& warp : cta.warps) {
    warps_.emplace_back();
    warps_.back().begin = now;
    warp->timing = &warps_.back();
  }
  ++ctas_run_;
}

void Timeline::end(const Cta& cta) {
  for (const auto& warp : cta.warps) warp->timing->end = std::max(warp->timing->end, now);
  Sm& of = sm(cta);
  of.last_end = std::max(of.last_end, now);
  last_ = std::max(last_, now);  // a warp that ends alone waits for no event
}

Timeline::Event Timeline::pop() {
  Event event = queue_.top();
  queue_.pop();
  now = event.at;
  last_ = std::max(last_, now);
  cause = event.cause;
  if (event.split) event.split->ready_index = -1;
  return event;
}

void Timeline::push(Split* split, double at) {
  split->ready_index = 0;
  queue_.push({at, order_++, split, nullptr, Prediction::slot});
}

void Timeline::start(const std::shared_ptr<AsyncTask>& task) {
  static constexpr Prediction::Cause ends[] = {
      Prediction::other,  Prediction::operands, Prediction::store,  Prediction::store,
      Prediction::tensor, Prediction::tensor,   Prediction::tensor, Prediction::operands};
  const Work work = task->work();
  const double at = std::max(due(work), now);
  queue_.push({at, order_++, nullptr, task, ends[static_cast<int>(work.kind)]});
}

void Timeline::wake(Split* split) {
  if (split->ready_index >= 0) return;
  WarpTime& warp = *split->warp->timing;
  if (split->sleeps_on) {
    const double waited = std::max(0.0, now - split->time);
    warp.waits[cause] += waited;
    warp.since_product[cause] += waited;
    split->time = std::max(split->time, now + instructions_[split->pc].wake);
  } else {
    split->time = std::max(split->time, now);
  }
  split->sleeps_on = nullptr;
  push(split, split->time);
}

double Timeline::issue_at(const Split& split) {
  const Warp& warp = *split.warp;
  const double ready = instructions_[split.pc].uses_load
                           ? std::max(split.time, warp.timing->loads_ready)
                           : split.time;
  return std::max(ready, sm(warp.cta).issue[warp.index % Sm::schedulers].free);
}

void Timeline::issue(Split& split) {
  const Warp& warp = *split.warp;
  sm(warp.cta).issue[warp.index % Sm::schedulers].take(now, constants_.issue_cycles);
  split.time = now + instructions_[split.pc].cycles;
}

// What is asked for again is still in L2: tiles that share operands run at about the same time.
Timeline::Misses Timeline::measured_misses() const {
  Misses misses;
  for (const auto& [address, tensor] : tensors_)
    misses[address] = std::min(1.0, tensor.bytes / std::max(tensor.asked, 1.0));
  return misses;
}

void Timeline::add_roles(Prediction& prediction) const {
  std::array<double, Prediction::roles> count{};
  for (const WarpTime& warp : warps_) {
    const Prediction::Role role = warp.loads > 0      ? Prediction::loads
                                  : warp.products > 0 ? Prediction::multiplies
                                  : warp.stores > 0   ? Prediction::stores
                                                      : Prediction::computes;
    Prediction::RoleCycles& of = prediction.by_role[role];
    ++count[role];
    of.cycles += warp.end - warp.begin;
    for (int i = 0; i < Prediction::causes; ++i) of.waits[i] += warp.waits[i];
  }
  for (int role = 0; role < Prediction::roles; ++role) {
    if (count[role] == 0) continue;
    Prediction::RoleCycles& of = prediction.by_role[role];
    of.warps = count[role] / static_cast<double>(ctas_run_);
    of.cycles /= count[role];
    for (double& wait : of.waits) wait /= count[role];
  }
}

Prediction Timeline::prediction(std::uint64_t warp_instructions) const {
  Prediction result;
  result.cycles = last_ + (cluster_size_ > 1 ? constants_.cluster_cycles : 0);
  result.warp_instructions = warp_instructions;
  result.sampled_ctas = static_cast<double>(ctas_run_);
  result.ctas = static_cast<double>(clusters_ * cluster_size_);
  const double used = static_cast<double>(used_places_ * cluster_size_) / constants_.sm_count;
  const double all = result.cycles * static_cast<double>(sms_.size());
  double tensor = 0, span = 0, ends = 0, port = 0, shared = 0, store = 0, tma = 0;
  for (const Sm& of : sms_) {
    tensor += of.tensor.busy;
    port += of.port.busy;
    shared += of.shared.busy;
    store += of.store.busy;
    tma += of.tma.busy;
    ends += of.last_end;
    result.idle_computing += of.idle_computing;
    for (int i = 0; i < Prediction::causes; ++i) result.idle_by_cause[i] += of.idle_by_cause[i];
    if (of.first_product >= 0) span += of.tensor.free - of.first_product;
  }
  if (span > 0) {
    result.idle_computing /= span;
    for (double& idle : result.idle_by_cause) idle /= span;
    result.tensor_idle = std::accumulate(result.idle_by_cause.begin(), result.idle_by_cause.end(),
                                         result.idle_computing);
  }
  result.tensor_share = used * tensor / all;
  result.tail = 1 - used * ends / all;
  result.busy = {tensor / all,
                 port / all,
                 shared / all,
                 store / all,
                 tma / all,
                 l2_.busy / result.cycles,
                 hbm_.busy / result.cycles};
  const double power = constants_.power_idle + constants_.power_tensor * result.tensor_share +
                       constants_.power_l2 * result.busy[Prediction::l2] +
                       constants_.power_hbm * result.busy[Prediction::hbm];
  result.clock_ghz =
      constants_.clock_ghz * std::min(1.0, std::pow(power, -constants_.power_exponent));
  result.us = constants_.launch_us + result.cycles / result.clock_ghz / 1e3;
  add_roles(result);
  return result;
}

}  // namespace bwgemm::vgpu
