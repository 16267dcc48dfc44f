// SPDX-License-Identifier: Apache-2.0
// launch: a plan + stream -> one cuLaunchKernelEx. Asynchronous; allocates nothing.
#pragma once

#include <array>

#include "kernels/shape.h"
#include "launch/driver.h"
#include "launch/library.h"
#include "plan/copies.h"
#include "plan/plan.h"
#include "plan/sums.h"

namespace bwgemm {

// The driver's launch description, of which occupancy queries take the same form.
class LaunchConfig {
 public:
  // `overlaps`: the kernel may start during the tail of the one before it in the stream, for whose
  // end its griddepcontrol.wait waits.
  LaunchConfig(const KernelShape& shape, int grid, int cluster, CUstream stream, bool overlaps);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const CUlaunchConfig* get() const { return &config_; }
  int cluster() const { return cluster_; }

 private:
  void add(const CUlaunchAttribute& attribute);

  int cluster_;
  std::array<CUlaunchAttribute, 2> attributes_{};
  CUlaunchConfig config_{};
};

// The context of the kernel must be current. Error(EXECUTION_FAILED) names kernel and grid.
void launch(const Driver& driver, const LoadedKernel& kernel, const Plan& plan, CUstream stream,
            bool overlaps);
void launch(const Driver& driver, const LoadedKernel& kernel, const SumsPlan& plan, CUstream stream,
            bool overlaps);
void launch(const Driver& driver, const LoadedKernel& kernel, const CopiesPlan& plan,
            CUstream stream, bool overlaps);

}  // namespace bwgemm
