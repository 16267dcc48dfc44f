// SPDX-License-Identifier: Apache-2.0
// launch: Plan + stream -> one cuLaunchKernelEx. Asynchronous; allocates nothing.
#pragma once

#include "kernels/shape.h"
#include "launch/driver.h"
#include "launch/library.h"
#include "plan/plan.h"

namespace bwgemm {

// The driver's launch description, of which occupancy queries take the same form.
class LaunchConfig {
 public:
  LaunchConfig(const KernelShape& shape, int grid, int cluster, CUstream stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const CUlaunchConfig* get() const { return &config_; }

 private:
  CUlaunchAttribute cluster_{};
  CUlaunchConfig config_{};
};

// The context of the kernel must be current. Error(EXECUTION_FAILED) names kernel and grid.
void launch(const Driver& driver, const LoadedKernel& kernel, const Plan& plan, CUstream stream);

}  // namespace bwgemm
