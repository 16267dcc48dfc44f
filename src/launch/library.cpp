// SPDX-License-Identifier: Apache-2.0
#include "launch/library.h"

#include "core/clusters.h"
#include "kernels/bias_gradient/params.h"
#include "kernels/copies/params.h"
#include "launch/archive.h"
#include "launch/context.h"
#include "launch/launch.h"

namespace bwgemm {
namespace {

// Launches may differ in what is chosen per launch; the function must allow the largest of them.
KernelShape largest_shape(const KernelConfig& config) {
  KernelShape largest{};
  const auto consider = [&](int tile_n) {
    for (const Dtype d_type : {Dtype::bf16, Dtype::f32})
      for (const Major b : {Major::k, Major::mn})
        if (const KernelShape shape = kernel_shape(config, tile_n, d_type, b);
            largest.threads == 0 || shape.smem_bytes > largest.smem_bytes)
          largest = shape;
  };
  if (config.tile.n != 0) {
    consider(config.tile.n);
  } else {
    for (int tile_n = 0; tile_n <= 256; ++tile_n)
      if (sm100::invalid_because(config, tile_n, Major::k) == nullptr) consider(tile_n);
  }
  return largest;
}

// A kernel that is no row.
LaunchedKernel kernel_beside(KernelName name, int threads) {
  KernelShape shape{};
  shape.threads = threads;
  return {name, shape, 1, false};
}

LaunchedKernel kernel_of(int kernel, Arch arch) {
  if (kernel == copy_kernel) return kernel_beside(copies::kernel_name(arch), copies::threads);
  if (kernel == bias_gradient_kernel)
    return kernel_beside(bias_gradient::kernel_name(arch), bias_gradient::threads);
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(kernel)];
  const bool has_large_clusters = most_cluster_splits(config) > 1;
  return {kernel_name(config), largest_shape(config), config.cluster.size(), has_large_clusters};
}

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

}  // namespace bwgemm
