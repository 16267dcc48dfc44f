// SPDX-License-Identifier: Apache-2.0
// Kernel launches: the checks of cuLaunchKernelEx, the parameters as bytes, and the work that runs
// the kernel on the virtual machine and reports what its judges found.
#pragma once

#include <span>
#include <vector>

#include "vgpu/driver/api.h"
#include "vgpu/driver/kernel.h"

namespace bwgemm::vgpu::driver {

// What a launch configuration asks for, checked against the function. Cluster dimensions of zero:
// there are none.
struct Launch {
  vgpu::Dim3 grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t cluster[3] = {0, 0, 0};
  bool is_programmatic = false;  // may begin before the kernel in front of it ends

  std::uint32_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
};

struct KernelWork {
  vgpu::LaunchRequest request;
  bool is_programmatic;
  std::uint32_t ctas_per_sm;
  CUfunction function;        // for those who ask a graph
  std::vector<void*> values;  // the same: of each parameter, in the request's bytes
};

// Kernels of which each but the first may begin before the one in front of it ends. Fails if their
// judges found anything.
void run_kernels(std::span<const KernelWork* const> kernels);

// Of grid, block, cluster and shared memory; what occupancy queries may ask too.
Launch checked_shape(const CUlaunchConfig& config, const Function& function);

// Puts it into the stream of the configuration. Of `parameters` and `extra` exactly one holds the
// arguments.
void launch(const CUlaunchConfig& config, const Function& function, void** parameters,
            void** extra);

}  // namespace bwgemm::vgpu::driver
