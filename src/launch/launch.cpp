// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include "kernels/rows.h"

namespace bwgemm {
namespace {

// `params`: the kernel's one argument. The driver copies it before it returns, and does not write
// it.
template <class Name>
void launch_kernel(const Driver& driver, CUfunction function, const LaunchConfig& config,
                   const void* params, const Name& name) {
  void* parameters[] = {const_cast<void*>(params)};
  const CUresult result = driver.cuLaunchKernelEx(config.get(), function, parameters, nullptr);
  if (result == CUDA_SUCCESS) return;
  const CUlaunchConfig& refused = *config.get();
  throw Error(
      BWGEMM_STATUS_EXECUTION_FAILED,
      text(name().view(), " was not launched (grid ", refused.gridDimX, ", cluster ",
           config.cluster(), ", ", refused.blockDimX, " threads, ", refused.sharedMemBytes,
           " bytes of shared memory): ", driver.describe(driver.cuLaunchKernelEx.name(), result)));
}

}  // namespace

LaunchConfig::LaunchConfig(const KernelShape& shape, int grid, int cluster, CUstream stream,
                           bool overlaps)
    : cluster_(cluster) {
  config_.gridDimX = static_cast<unsigned>(grid);
  config_.gridDimY = config_.gridDimZ = 1;
  config_.blockDimX = static_cast<unsigned>(shape.threads);
  config_.blockDimY = config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned>(shape.smem_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_.data();
  if (cluster > 1) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = static_cast<unsigned>(cluster);
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    add(attribute);
  }
  if (overlaps) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    add(attribute);
  }
}

void LaunchConfig::add(const CUlaunchAttribute& attribute) {
  attributes_[config_.numAttrs++] = attribute;
}

void launch(const Driver& driver, const LoadedKernel& kernel, const Plan& plan, CUstream stream,
            bool overlaps) {
  launch_kernel(driver, kernel.function, {plan.shape, plan.grid, plan.cluster, stream, overlaps},
                &plan.params,
                [&] { return kernel_name(kernel_rows[static_cast<std::size_t>(plan.row)]); });
}

void launch(const Driver& driver, const LoadedKernel& kernel, const SumsPlan& plan, CUstream stream,
            bool overlaps) {
  launch_kernel(driver, kernel.function, {sums_shape(), plan.grid, 1, stream, overlaps},
                &plan.params, [&] { return sums::kernel_name(plan.arch); });
}

void launch(const Driver& driver, const LoadedKernel& kernel, const CopiesPlan& plan,
            CUstream stream, bool overlaps) {
  launch_kernel(driver, kernel.function, {copies_shape(), plan.grid, 1, stream, overlaps},
                &plan.params, [&] { return copies::kernel_name(plan.arch); });
}

}  // namespace bwgemm
