// SPDX-License-Identifier: Apache-2.0
#include "launch/library.h"

#include "core/clusters.h"
#include "launch/archive.h"
#include "launch/context.h"
#include "launch/launch.h"
#include "plan/copies.h"
#include "plan/sums.h"

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

LaunchedKernel kernel_of(int row) {
  const KernelConfig& config = kernel_rows[static_cast<std::size_t>(row)];
  const bool has_large_clusters = most_cluster_slices(config) > 1;
  return {kernel_name(config), largest_shape(config), config.cluster.size(), has_large_clusters};
}

LaunchedKernel sums_kernel(const DeviceFacts& facts) {
  return {sums::kernel_name(facts.arch()), sums_shape(), 1, false};
}

LaunchedKernel copy_kernel(const DeviceFacts& facts) {
  return {copies::kernel_name(facts.arch()), copies_shape(), 1, false};
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

void LoadedKernels::load(int row, Slot& slot) {
  const std::lock_guard lock(loading_);
  if (slot.is_loaded.load(std::memory_order_relaxed)) return;
  const LaunchedKernel launched = row == sums_slot   ? sums_kernel(facts_)
                                  : row == copy_slot ? copy_kernel(facts_)
                                                     : kernel_of(row);
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
