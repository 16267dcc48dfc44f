// SPDX-License-Identifier: Apache-2.0
#include "launch/clusters.h"

#include "device/layout.h"
#include "families/helpers.h"
#include "families/registry.h"
#include "launch/archive.h"
#include "launch/context.h"
#include "launch/kernels.h"

namespace bwgemm {
namespace {

bool is_whole_device(const Driver& driver, const DeviceFacts& facts) {
  CUdevice device = 0;
  int sms = 0;
  driver.call(driver.cuCtxGetDevice, &device);
  driver.call(driver.cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  return sms == facts.sm_count;
}

// The one that copies operands stands for all: any may have an SM for each of its CTAs.
CUfunction function_from(const Driver& driver, CUlibrary library, const KernelName& name) {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  driver.call(driver.cuLibraryGetKernel, &kernel, library, name.c_str());
  driver.call(driver.cuKernelGetFunction, &function, kernel);
  driver.call(driver.cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              max_smem_bytes);
  driver.call(driver.cuFuncSetAttribute, function,
              CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  return function;
}

ClusterCounts counts(const Driver& driver, CUfunction function, int threads, Arch arch) {
  constexpr int blackwell_rows_largest = 4;
  ClusterCounts found;
  for (int ctas = 2; ctas <= (arch == Arch::sm90 ? found.largest : blackwell_rows_largest);
       ++ctas) {
    const Step step{copy_kernel, ctas, ctas, threads, max_smem_bytes};
    const LaunchConfig launch(step, nullptr, false);
    int clusters = 0;
    const CUresult result = driver.cuOccupancyMaxActiveClusters(&clusters, function, launch.get());
    if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) continue;  // not known of this device
    if (result != CUDA_SUCCESS)
      throw Error(status_of(result),
                  driver.describe(driver.cuOccupancyMaxActiveClusters.name(), result));
    found.set(ctas, clusters);
  }
  return found;
}

}  // namespace

ClusterCounts asked_clusters(const Driver& driver, const DeviceFacts& facts) {
  if (!is_whole_device(driver, facts)) return {};
  const auto [name, shape, cluster, has_large] = kernel_of(copy_kernel, facts.arch());
  const Archive archive = Archive::embedded();
  if (!archive.has(name.view(), target_of(facts))) return {};
  const CaptureRelaxer relaxer(driver);
  CUlibrary library = nullptr;
  driver.call(driver.cuLibraryLoadData, &library,
              archive.find(name.view(), target_of(facts)).data(), nullptr, nullptr, 0U, nullptr,
              nullptr, 0U);
  ClusterCounts found;
  try {
    found = counts(driver, function_from(driver, library, name), shape.threads, facts.arch());
  } catch (...) {
    static_cast<void>(driver.cuLibraryUnload(library));  // the first failure is the one to report
    throw;
  }
  driver.call(driver.cuLibraryUnload, library);
  return found;
}

}  // namespace bwgemm
