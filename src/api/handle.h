// SPDX-License-Identifier: Apache-2.0
// Handle: what a bwgemmHandle_t stands for: a context, the settings made on it, and what calls on
// it share. And the table of live handles, which tells a live one from any other pointer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/program.h"
#include "api/tuning_cache.h"
#include "bwgemm/bwgemm.h"
#include "core/device_facts.h"
#include "launch/driver.h"
#include "launch/kernels.h"
#include "launch/scratch.h"
#include "program/tensor_map.h"
#include "select/select.h"

namespace bwgemm {

// As bwgemmSetWorkspace takes it. Without data the library allocates, unless the size is 0 too.
struct Workspace {
  void* data = nullptr;
  std::size_t size = ScratchPool::max_partials_bytes;

  // What one call may use.
  std::size_t usable() const {
    return data != nullptr ? size : std::min(size, ScratchPool::max_partials_bytes);
  }
};

// What a call may set for itself. A handle's defaults are those of calls that do not.
struct CallSettings {
  Workspace workspace;
  std::int64_t algo = -1;
};

class Handle {
 public:
  explicit Handle(const Driver& driver);
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Waits for the kernels of the handle and gives back what it holds on the device. Goes on after a
  // failure and throws the first. Nothing but destruction may follow.
  void close();

  // What the settings and the environment say.
  SelectOptions select_options(std::size_t workspace_bytes) const;
  // And with what the call or earlier tuning say is to be chosen. Without a size: in the workspace
  // that the call has.
  SelectOptions select_options(const Problem& problem, const CallSettings& call,
                               std::optional<std::size_t> workspace_bytes = std::nullopt) const;
  Choice choose(const Problem& problem, const CallSettings& call) const;

  const Driver& driver;
  const Context context;
  const DeviceFacts facts;
  const std::string forced_kernel;
  const ForcedRecipe forced;  // by the environment

  // Settings. Their setters clear `programs` where programs depend on them.
  StreamIdentity stream;
  Workspace workspace;
  bwgemmPointerMode_t pointer_mode = BWGEMM_POINTER_MODE_HOST;
  bwgemmDeterminism_t determinism = BWGEMM_DETERMINISM_BITWISE;
  int sm_count_target = 0;
  int programmatic_launch;
  bwgemmTuneMode_t tune_mode;

  // Whether the last kernel was a short one.
  std::atomic<bool> is_behind_short = false;

  ProgramCache programs;
  TuningCache tuning;    // whoever changes what it says of a known problem clears `programs`
  std::mutex measuring;  // held by a call while it measures for BWGEMM_TUNE_ON
  LoadedKernels kernels;
  TensorMapCache maps;
  ScratchPool scratch;

 private:
  bool is_closed_ = false;
};

// Puts the handle into the table. Error(ALLOC_FAILED) if the table is full.
bwgemmHandle_t publish(std::unique_ptr<Handle> handle);

// Error(NOT_INITIALIZED) unless the handle is alive in this process: a forked child cannot use the
// CUDA of its parent.
Handle& checked(bwgemmHandle_t handle);

// checked(), and out of the table.
std::unique_ptr<Handle> withdraw(bwgemmHandle_t handle);

}  // namespace bwgemm
