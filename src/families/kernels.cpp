// SPDX-License-Identifier: Apache-2.0
#include "families/kernels.h"

#include "families/bias_gradient/params.h"
#include "families/copies/params.h"
#include "families/facts.h"
#include "families/variants.h"
#include "program/part.h"

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
    for (int tile_n = tile_n_step; tile_n <= widest_tile; tile_n += tile_n_step)
      if (facts_of(config.family).tile_n_invalid_because(config, tile_n, Major::k) == nullptr)
        consider(tile_n);
  }
  return largest;
}

// A kernel that is no variant.
LaunchedKernel kernel_beside(KernelName name, int threads) {
  KernelShape shape{};
  shape.threads = threads;
  return {name, shape, 1, false};
}

}  // namespace

LaunchedKernel kernel_of(int kernel, Arch arch) {
  if (kernel == copy_kernel) return kernel_beside(copies::kernel_name(arch), copies::threads);
  if (kernel == bias_gradient_kernel)
    return kernel_beside(bias_gradient::kernel_name(arch), bias_gradient::threads);
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(kernel)];
  const bool has_large_clusters = most_cluster_splits(config) > 1;
  return {kernel_name(config), largest_shape(config), config.cluster.size(), has_large_clusters};
}

}  // namespace bwgemm
