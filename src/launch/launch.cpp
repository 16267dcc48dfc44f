// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

namespace bwgemm {

LaunchConfig::LaunchConfig(const Step& step, CUstream stream, bool overlaps) {
  config_.gridDimX = static_cast<unsigned>(step.grid);
  config_.gridDimY = config_.gridDimZ = 1;
  config_.blockDimX = static_cast<unsigned>(step.threads);
  config_.blockDimY = config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned>(step.smem_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_.data();
  if (step.cluster > 1) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = static_cast<unsigned>(step.cluster);
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

// The driver copies the kernel's one argument before it returns, and does not write it.
void launch(const Driver& driver, const LoadedKernel& kernel, const Step& step, const void* params,
            CUstream stream, bool overlaps) {
  const LaunchConfig config(step, stream, overlaps);
  void* parameters[] = {const_cast<void*>(params)};
  const CUresult result =
      driver.cuLaunchKernelEx(config.get(), kernel.function, parameters, nullptr);
  if (result == CUDA_SUCCESS) return;
  throw Error(
      BWGEMM_STATUS_EXECUTION_FAILED,
      text(kernel.name.view(), " was not launched (grid ", step.grid, ", cluster ", step.cluster,
           ", ", step.threads, " threads, ", step.smem_bytes,
           " bytes of shared memory): ", driver.describe(driver.cuLaunchKernelEx.name(), result)));
}

}  // namespace bwgemm
