// SPDX-License-Identifier: Apache-2.0
#include "launch/kernels.h"

#include "core/clusters.h"
#include "launch/archive.h"
#include "launch/context.h"

namespace bwgemm {
namespace {

int resident_clusters(const Driver& driver, const DeviceFacts& facts, CUfunction function,
                      const KernelShape& shape, int cluster) {
  int per_sm = 0;
  driver.call(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, &per_sm, function, shape.threads,
              static_cast<std::size_t>(shape.smem_bytes));
  if (cluster == 1) return per_sm * facts.sm_count;
  return per_sm < 1 ? 0 : static_cast<int>(clusters_that_fit(facts, cluster));
}

}  // namespace

LoadedKernel LoadedKernels::loaded_from(CUlibrary library, const LaunchedKernel& launched) const {
  const auto& [name, shape, cluster, has_large_clusters] = launched;
  CUkernel kernel = nullptr;
  driver_.call(driver_.cuLibraryGetKernel, &kernel, library, name.c_str());
  LoadedKernel loaded;
  loaded.name = name;
  driver_.call(driver_.cuKernelGetFunction, &loaded.function, kernel);
  if (shape.smem_bytes > 0)
    driver_.call(driver_.cuFuncSetAttribute, loaded.function,
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shape.smem_bytes);
  if (has_large_clusters)
    driver_.call(driver_.cuFuncSetAttribute, loaded.function,
                 CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  loaded.resident_clusters = resident_clusters(driver_, facts_, loaded.function, shape, cluster);
  if (loaded.resident_clusters < 1)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("kernel ", name.view(), " does not fit into the ", facts_.sm_count,
                     " multiprocessors of the context"));
  return loaded;
}

void LoadedKernels::load(int kernel, Slot& slot) {
  const std::lock_guard lock(loading_);
  if (slot.is_loaded.load(std::memory_order_relaxed)) return;
  const LaunchedKernel launched = kernel_of(kernel, facts_.arch());
  const auto code = Archive::embedded().find(launched.name.view(), target_of(facts_));
  const CaptureRelaxer relaxer(driver_);
  CUlibrary library = nullptr;
  driver_.call(driver_.cuLibraryLoadData, &library, code.data(), nullptr, nullptr, 0U, nullptr,
               nullptr, 0U);
  try {
    slot.kernel = loaded_from(library, launched);
  } catch (...) {
    static_cast<void>(driver_.cuLibraryUnload(library));  // the first failure is the one to report
    throw;
  }
  slot.library = library;
  is_any_loaded_.store(true, std::memory_order_release);
  slot.is_loaded.store(true, std::memory_order_release);
}

CUresult LoadedKernels::unload() {
  CUresult first = CUDA_SUCCESS;
  for (Slot& slot : slots_) {
    if (!slot.is_loaded.exchange(false)) continue;
    const CUresult result = driver_.cuLibraryUnload(slot.library);
    if (first == CUDA_SUCCESS) first = result;
  }
  is_any_loaded_.store(false);
  return first;
}

// Every member is written once and in its place: a copy would have to wait for what it copies.
LaunchConfig::LaunchConfig(const Step& step, CUstream stream, bool overlaps)
    : config_{.gridDimX = static_cast<unsigned>(step.grid),
              .gridDimY = 1,
              .gridDimZ = 1,
              .blockDimX = static_cast<unsigned>(step.threads),
              .blockDimY = 1,
              .blockDimZ = 1,
              .sharedMemBytes = static_cast<unsigned>(step.smem_bytes),
              .hStream = stream,
              .attrs = attributes_.data(),
              .numAttrs = 0} {
  if (step.cluster > 1)
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {static_cast<unsigned>(step.cluster), 1,
                                                             1};
  if (overlaps)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
}

CUlaunchAttributeValue& LaunchConfig::add(CUlaunchAttributeID id) {
  CUlaunchAttribute& attribute = attributes_[config_.numAttrs++];
  attribute.id = id;
  return attribute.value;
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
