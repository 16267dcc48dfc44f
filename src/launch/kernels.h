// SPDX-License-Identifier: Apache-2.0
// From a kernel's number to its launch. LoadedKernels: the kernels of one handle, each loaded into
// its context when it is first needed. launch: a step + stream -> one cuLaunchKernelEx.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "core/device_facts.h"
#include "families/helpers.h"
#include "families/registry.h"
#include "families/variants.h"
#include "launch/driver.h"
#include "program/part.h"

namespace bwgemm {

struct LoadedKernel {
  CUfunction function = nullptr;
  int resident_clusters = 0;  // that the context's SMs can hold at once
  KernelName name{};
};

// Loading is thread-safe; asking for a loaded kernel takes one atomic load.
class LoadedKernels {
 public:
  LoadedKernels(const Driver& driver, const DeviceFacts& facts) : driver_(driver), facts_(facts) {}
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  // The handle's context must be current.
  const LoadedKernel& get(int kernel) {
    Slot& slot = slots_[static_cast<std::size_t>(kernel - first_kernel)];
    if (!slot.is_loaded.load(std::memory_order_acquire)) load(kernel, slot);
    return slot.kernel;
  }

  bool any() const { return is_any_loaded_.load(std::memory_order_acquire); }

  // Returns the first failure, and goes on after it. No kernel of these may be running.
  CUresult unload();

 private:
  static constexpr int first_kernel = -static_cast<int>(helpers.size());

  struct Slot {
    std::atomic<bool> is_loaded{false};
    LoadedKernel kernel;
    CUlibrary library = nullptr;
  };

  void load(int kernel, Slot& slot);
  LoadedKernel loaded_from(CUlibrary library, const LaunchedKernel& launched) const;

  const Driver& driver_;
  const DeviceFacts facts_;
  std::mutex loading_;
  std::atomic<bool> is_any_loaded_{false};
  std::array<Slot, kernel_variants.size() + helpers.size()> slots_;
};

// The driver's launch description, of which occupancy queries take the same form.
class LaunchConfig {
 public:
  // `overlaps`: the kernel may start during the tail of the one before it in the stream, for whose
  // end its griddepcontrol.wait waits.
  LaunchConfig(const Step& step, CUstream stream, bool overlaps);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const CUlaunchConfig* get() const { return &config_; }

 private:
  CUlaunchAttributeValue& add(CUlaunchAttributeID id);

  std::array<CUlaunchAttribute, 2> attributes_;  // only what was added is written
  CUlaunchConfig config_;
};

// Asynchronous; allocates nothing. `params`: of the step. The context of the kernel must be
// current. Error(EXECUTION_FAILED) names kernel and grid.
void launch(const Driver& driver, const LoadedKernel& kernel, const Step& step, const void* params,
            CUstream stream, bool overlaps);

}  // namespace bwgemm
