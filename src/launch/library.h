// SPDX-License-Identifier: Apache-2.0
// LoadedKernels: the kernels of one handle, each loaded into its context when it is first needed.
// Loading is thread-safe; asking for a loaded kernel takes one atomic load.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "core/device_facts.h"
#include "kernels/rows.h"
#include "kernels/shape.h"
#include "launch/driver.h"

namespace bwgemm {

struct LoadedKernel {
  CUfunction function = nullptr;
  int resident_clusters = 0;  // that the context's SMs can hold at once
};

// What loading one must know of it.
struct LaunchedKernel {
  KernelName name;
  KernelShape shape;  // the largest
  int cluster;
  bool has_large_clusters;  // of more CTAs than every device can run, where a launch says so
};

class LoadedKernels {
 public:
  LoadedKernels(const Driver& driver, const DeviceFacts& facts) : driver_(driver), facts_(facts) {}
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  // The handle's context must be current.
  const LoadedKernel& get(int row) {
    Slot& slot = slots_[static_cast<std::size_t>(row)];
    if (!slot.is_loaded.load(std::memory_order_acquire)) load(row, slot);
    return slot.kernel;
  }
  // The one that adds up matrices.
  const LoadedKernel& get_sums() { return get(sums_slot); }
  // The one that copies operands.
  const LoadedKernel& get_copy() { return get(copy_slot); }

  bool any() const { return is_any_loaded_.load(std::memory_order_acquire); }

  // Returns the first failure, and goes on after it. No kernel of these may be running.
  CUresult unload();

 private:
  // Behind the rows.
  static constexpr int sums_slot = static_cast<int>(kernel_rows.size()), copy_slot = sums_slot + 1;

  struct Slot {
    std::atomic<bool> is_loaded{false};
    LoadedKernel kernel;
    CUlibrary library = nullptr;
  };

  void load(int row, Slot& slot);
  LoadedKernel loaded_from(CUlibrary library, const LaunchedKernel& launched) const;

  const Driver& driver_;
  const DeviceFacts facts_;
  std::mutex loading_;
  std::atomic<bool> is_any_loaded_{false};
  std::array<Slot, copy_slot + 1> slots_;
};

}  // namespace bwgemm
