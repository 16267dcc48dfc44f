// SPDX-License-Identifier: Apache-2.0
// Timeline: simulated time of one launch. Owns the queue of what goes on next, the resources with
// the cycle at which each is free, and what is counted. Simulation asks it instead of chance.
//
// A resource serves one request after the other at its rate. Those of the chip serve each request
// of a simulated SM as often as there are SMs that it stands for.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vgpu/machine/simulation.h"
#include "vgpu/machine/work.h"
#include "vgpu/ptx/program.h"
#include "vgpu/timing/prediction.h"

namespace bwgemm::vgpu {

struct Resource {
  double free = 0, busy = 0;
  // When the request begins that comes at `at`.
  double take(double at, double cycles) {
    const double start = free > at ? free : at;
    free = start + cycles;
    busy += cycles;
    return start;
  }
};

// A streaming multiprocessor, and what it has done.
struct Sm {
  static constexpr std::size_t schedulers = 4;
  std::array<Resource, schedulers> issue, tensor_load;
  Resource tma, port, shared, store, tensor;
  double first_product = -1, idle = 0, idle_computing = 0;
  std::array<double, Prediction::causes> idle_by_cause{};
  double last_end = 0;  // of a CTA
};

struct WarpTime {
  double weight = 1, begin = 0, end = 0;
  double loads_ready = 0, tensor_loads_ready = 0, copies_ready = 0;
  std::array<double, Prediction::causes> waits{}, since_product{};
  double loads = 0, products = 0, stores = 0;
};

// What the timing of an instruction depends on.
struct InstructionTime {
  enum Kind : std::uint8_t {
    plain,  // has no effect outside of its warp
    visible,
    waiting,  // on an mbarrier
    load_global,
    store_global,
    load_shared,
    store_shared,
    copy,
    load_tensor,
    wait_tensor,
    mma_sync,
    atomic,
    bulk_load,
    bulk_store,
    product,
  };
  Kind kind = plain;
  bool uses_load = false;
  float cycles = 0, wake = 0;
};
std::vector<InstructionTime> instruction_times(const Program& program, const Constants& constants);
// Whether what the instruction gives to registers comes later: its users wait (uses_load).
bool gives_later(std::string_view opcode);

class Timeline {
 public:
  // `misses`: part of the bytes of each tensor that no cache holds; none yet: those are counted.
  using Misses = std::unordered_map<std::uint64_t, double>;
  Timeline(const Program& program, const LaunchRequest& request, const Constants& constants,
           std::uint32_t ctas_per_sm, std::uint32_t cluster_size, const Misses* misses,
           bool samples);

  // ---- the grid ----
  struct Start {
    std::uint64_t cluster;
    std::uint32_t place;
  };
  std::vector<Start> first_clusters() const;
  // As an SM becomes free, or a CTA takes the work over.
  std::optional<std::uint64_t> next_cluster();
  void add(Cta& cta, std::uint32_t place);
  void end(const Cta& cta);
  double start_cycles() const;
  double restart_cycles() const { return constants_.exit_cycles + start_cycles(); }

  // ---- the queue ----
  struct Event {
    double at;
    std::uint64_t order;
    Split* split;
    std::shared_ptr<AsyncTask> task;
    Prediction::Cause cause;  // of waits that the task ends
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  bool is_empty() const { return queue_.empty(); }
  Event pop();
  double next_at() const { return queue_.empty() ? for_ever : queue_.top().at; }
  void push(Split* split, double at);
  void start(const std::shared_ptr<AsyncTask>& task);
  void wake(Split* split);

  // ---- time ----
  double now = 0;
  Prediction::Cause cause = Prediction::slot;  // of wakes
  const InstructionTime& of(std::uint32_t pc) const { return instructions_[pc]; }
  // When the split's next instruction executes, and what that takes.
  double issue_at(const Split& split);
  void issue(Split& split);
  void access(Split& split, const Instruction& instruction, LaneMask mask);

  // ---- results ----
  bool counts() const { return misses_ == nullptr; }
  bool saw_atomics() const { return saw_atomics_; }
  Misses measured_misses() const;
  Prediction prediction(std::uint64_t warp_instructions) const;

 private:
  static constexpr double for_ever = std::numeric_limits<double>::infinity();

  double due(const Work& work);
  double load(const Work& work);
  bool merges(const Work& work);
  double multiply(const Work& work);
  double tensor_multiply(const Work& work);
  void note_product(Sm& sm, const Work& work, double start, double free);
  double global_access(Split& split, const Instruction& instruction, LaneMask mask, bool loads);
  Sm& sm(const Cta& cta) { return sms_[cta.place]; }
  void add_roles(Prediction& prediction) const;

  const Program& program_;
  const Constants& constants_;
  std::vector<InstructionTime> instructions_;
  const Misses* misses_;
  bool saw_atomics_ = false;

  // Places hold one cluster, or several of them one beside the other.
  std::uint32_t cluster_size_, places_, slots_, used_places_ = 0, sampled_places_ = 0;
  std::uint32_t together_ = 1;  // simulated places that are neighbours
  std::uint64_t clusters_, taken_ = 0;
  double weight_ = 1;  // SMs that a simulated one stands for

  std::priority_queue<Event> queue_;
  std::uint64_t order_ = 0;
  std::vector<Sm> sms_;
  Resource l2_, hbm_, outside_;
  struct Request {
    std::uint32_t place;
    double at;
  };
  std::unordered_map<std::uint64_t, Request> requests_;  // the last of each box and TPC
  std::deque<WarpTime> warps_;
  struct Tensor {
    double asked = 0, bytes = 0;
  };
  std::unordered_map<std::uint64_t, Tensor> tensors_;
  std::unordered_set<std::uint64_t> touched_;  // lines of global memory, by threads
  double last_ = 0;
  std::uint64_t ctas_run_ = 0;
};

}  // namespace bwgemm::vgpu
