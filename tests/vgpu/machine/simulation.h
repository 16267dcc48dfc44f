// SPDX-License-Identifier: Apache-2.0
// Simulation: one run of one kernel. Owns the clusters that are resident, decides who goes next,
// and gives instructions access to memory, chance and the findings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/judges/findings.h"
#include "vgpu/judges/global_shadow.h"
#include "vgpu/machine.h"
#include "vgpu/machine/chance.h"
#include "vgpu/machine/cta.h"
#include "vgpu/machine/junk.h"
#include "vgpu/machine/work.h"
#include "vgpu/ptx/program.h"

namespace bwgemm::vgpu {

class Timeline;

// Something asynchronous that has work to do: the scheduler picks one at random.
class AsyncTask {
 public:
  virtual ~AsyncTask() = default;
  // Does some of it. False: nothing is left for now, take me off the list.
  virtual bool step() = 0;
  virtual bool belongs_to(const Cluster& cluster) const = 0;
  // Reports, if the CTA must not exit yet.
  virtual void check_exit(const Cta&) {}
  // What its next step is to the timing mode.
  virtual Work work() const = 0;

 private:
  friend class Simulation;
  bool scheduled_ = false;
};

class Simulation {
 public:
  Simulation(const Program& program, const LaunchRequest& request, GlobalMemory& memory,
             const RunOptions& options);
  ~Simulation();

  // In simulated time instead of in any order (timing/timed_run.cpp): no products, no tiles move.
  std::vector<Finding> run_timed(std::unique_ptr<Timeline> timeline);
  bool is_timed() const { return timeline_ != nullptr; }
  double cycle() const;       // 0 if nobody counts
  bool keeps_memory() const;  // a run that only counts: atomics leave global memory as it is

  // Of a grid that others precede.
  enum class State { going, waiting, over };  // waiting: for the end of what it depends on
  State advance(std::uint32_t decisions);
  const std::vector<Finding>& finish();

  // ---- grids in a chain (grids.cpp) ----
  void set_prerequisites() {
    has_prerequisites_ = true;
    global_shadow_.record_early();
  }
  void prerequisites_are_over();
  bool lets_dependents_begin() const { return ctas_before_dependents_ == 0; }
  void let_dependents_begin(Cta& cta);
  // True if the split has to sleep.
  bool waits_for_prerequisites(Split* split);
  bool is_over() const { return is_over_; }
  // Reports accesses without a wait to what an earlier grid uses. Both have ended.
  void judge_early_accesses(const Simulation& before) {
    try {
      global_shadow_.judge_early(before.global_shadow_, before.program_, findings_);
    } catch (const RunEnded&) {
    }
  }

  const Program& program() const { return program_; }
  const LaunchRequest& request() const { return request_; }
  const RunOptions& options() const { return options_; }
  Findings& findings() { return findings_; }
  GlobalShadow& global_shadow() { return global_shadow_; }
  std::uint32_t cluster_size() const { return cluster_size_; }
  // Takes a cluster that has not begun off the grid, some of them; nothing: all have.
  std::optional<std::uint64_t> cancel_cluster();
  std::uint64_t instructions() const { return instructions_; }
  std::string entity_name(const Warp& observer, Entity entity) const;

  // ---- chance ----
  std::uint32_t random(std::uint32_t below) { return below <= 1 ? 0 : random_() % below; }
  bool chance(double probability) { return (random_() & 0xffffff) < probability * 0x1000000; }
  Junk& junk() { return junk_; }
  // Whether a wait returns although what it waits for has not come.
  bool fails_spuriously(const Instruction& wait) {
    return options_.adversarial &&
           (chance(spurious_failures_) || wait.line == options_.impatient_line);
  }

  // ---- scheduling ----
  void schedule(const std::shared_ptr<AsyncTask>& task);
  void wake(Split* split);
  void wake_all(std::vector<Split*>& splits);
  // The current split sleeps; the instruction says how it goes on (Step).
  void sleep(Split* split, const char* on, std::uint32_t at);

  // ---- tensor memory (multiprocessor.cpp) ----
  // Gives the cluster's CTAs their multiprocessors, unless they have them.
  void place(Cluster& cluster);
  void sleep_on_tensor_memory(Split* split, const char* on, std::uint32_t columns) {
    tensor_memory_sleepers_.push_back(split);
    sleep(split, on, columns);
  }
  // Whoever waits for columns, or for a peer's allocation, looks again.
  void tensor_memory_changed() { wake_all(tensor_memory_sleepers_); }

  // ---- memory ----
  // Bytes of global memory or the parameters; a finding, and the end, if any is outside.
  std::byte* global(std::uint64_t address, std::uint32_t bytes, bool writes,
                    const Instruction* instruction);
  // The allocation that contains all of it, if a kernel may access it so; else null.
  Allocation* find_global(std::uint64_t address, std::uint64_t bytes, bool writes) {
    Allocation* const found = allocation_of(address, bytes);
    return writes && found == parameter_block_.get() ? nullptr : found;
  }
  void check_initialised(std::uint64_t address, std::uint32_t bytes,
                         const Instruction* instruction);
  std::uint64_t parameter_window() const { return parameter_window_; }
  const std::vector<std::byte>& parameters() const { return request_.parameters; }
  // The CTA of a shared::cluster address.
  Cta& cta_at(Cta& from, std::uint32_t address, const Instruction* instruction);
  // The bytes at an offset of a CTA's window.
  std::byte* shared(Cta& cta, std::uint32_t offset, std::uint32_t bytes, std::uint32_t alignment,
                    const Instruction* instruction) {
    if (offset < shared_base || offset + bytes > cta.shared.size() || offset % alignment != 0)
      report_shared_bounds(cta, offset, bytes, alignment, instruction);
    return cta.shared.reach(offset, bytes);
  }

 private:
  void decide();
  void validate_launch() const;
  void launch_cluster(std::uint64_t number, std::uint32_t place = 0);
  void launch_timed(std::uint64_t number, std::uint32_t place, double at);
  void run_timed(Split* split);
  void advance_timed();
  void follow(Cta& cta);
  bool can_launch() const;
  bool fits_twice(const Cta& cta) const;  // in a multiprocessor
  void retire_finished_clusters();
  void execute(Split* split);
  void note_coverage();
  bool execute_at(Split* split);
  void branch(Split* split, const Instruction& instruction, LaneMask taken);
  void arrive_at_join(Split* split);
  void release_join(Warp& warp, int join);
  void drop_join(Warp& warp, int join);
  int new_join(Warp& warp, std::uint32_t pc, LaneMask mask, int parent);
  Split* new_split(Warp& warp, LaneMask mask, std::uint32_t pc, int join);
  void end_split(Split* split);
  void exit_lanes(Split* split, LaneMask mask);
  void exit_warp(Warp& warp);
  void exit_cta(Cta& cta);
  void unschedule(Split* split);
  [[noreturn]] void report_deadlock();
  [[noreturn]] void report_shared_bounds(const Cta& cta, std::uint32_t offset, std::uint32_t bytes,
                                         std::uint32_t alignment, const Instruction* instruction);
  Allocation* allocation_of(std::uint64_t address, std::uint64_t bytes);

  const Program& program_;
  const LaunchRequest& request_;
  GlobalMemory& memory_;
  const RunOptions options_;
  Findings findings_;
  GlobalShadow global_shadow_;
  Chance random_;
  Junk junk_;
  double async_eagerness_ = 1, spurious_failures_ = 0;
  std::uint32_t starved_ = ~0u;   // warp of every CTA that hardly ever goes next
  std::uint32_t quantum_ = 1000;  // instructions between decisions, at most

  std::uint32_t cluster_size_, threads_;
  std::uint64_t clusters_end_, clusters_started_ = 0, clusters_resident_ = 0;  // begin in order
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<Split*> ready_, tensor_memory_sleepers_;
  std::vector<std::shared_ptr<AsyncTask>> tasks_;
  std::uint64_t instructions_ = 0, async_events_ = 0;
  std::vector<std::uint8_t> executed_;  // of the program's instructions, for coverage; else none
  bool is_over_ = false;
  std::unique_ptr<Timeline> timeline_;  // null: not timed

  bool has_prerequisites_ = false, prerequisites_over_ = false;
  std::uint64_t ctas_before_dependents_;
  std::vector<Split*> grid_sleepers_;

  static constexpr std::size_t cached_allocations = 16;
  std::array<std::shared_ptr<Allocation>, cached_allocations> cache_;
  std::shared_ptr<Allocation> parameter_block_;
  std::uint64_t parameter_window_ = 0;
};

// Ends the run with a finding at the instruction.
[[noreturn]] void fail(const Warp& warp, const Instruction& instruction, const char* kind,
                       const std::string& text);
// An instruction of whole warps; `whole` is less where lanes may have left.
void require_whole_warp(const Warp& warp, const Instruction& instruction, LaneMask mask,
                        LaneMask whole = all_lanes);

// barrier.cpp: lets a cluster barrier go that everybody alive has reached.
void release_cluster_barrier(Simulation& simulation, Cluster& cluster);
// wgmma.cpp: judges an instruction that names an accumulator.
void note_accumulator_access(Warp& warp, const Instruction& instruction);

}  // namespace bwgemm::vgpu
