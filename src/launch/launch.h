// SPDX-License-Identifier: Apache-2.0
// launch: a step + stream -> one cuLaunchKernelEx. Asynchronous; allocates nothing.
#pragma once

#include <array>

#include "launch/driver.h"
#include "launch/library.h"
#include "program/part.h"

namespace bwgemm {

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
  void add(const CUlaunchAttribute& attribute);

  std::array<CUlaunchAttribute, 2> attributes_{};
  CUlaunchConfig config_{};
};

// `params`: of the step. The context of the kernel must be current. Error(EXECUTION_FAILED) names
// kernel and grid.
void launch(const Driver& driver, const LoadedKernel& kernel, const Step& step, const void* params,
            CUstream stream, bool overlaps);

}  // namespace bwgemm
