// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/occupancy.h"

#include <algorithm>

#include "vgpu/driver/context.h"

namespace bwgemm::vgpu::driver {
namespace {

constexpr int warp_threads = 32, warps_per_partition_set = 4;
constexpr int register_granule = 256, shared_granule = 128;

int rounded_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

int blocks_per_sm(const Function& function, int threads, std::size_t dynamic_shared_bytes) {
  if (threads > limits::threads_per_block || dynamic_shared_bytes > limits::shared_per_sm) return 0;
  const int warps = rounded_up(threads, warp_threads) / warp_threads;
  const int warp_registers = rounded_up(function.registers() * warp_threads, register_granule);
  // Registers belong to one of four partitions, and each warp to one partition.
  const int warps_by_registers =
      limits::registers_per_sm / warps_per_partition_set / warp_registers * warps_per_partition_set;
  const int shared = rounded_up(
      static_cast<int>(function.info->static_shared_bytes) + static_cast<int>(dynamic_shared_bytes),
      shared_granule);
  if (shared > limits::shared_per_block_optin) return 0;
  return std::min({limits::blocks_per_sm, limits::warps_per_sm / warps, warps_by_registers / warps,
                   limits::shared_per_sm / (shared + limits::reserved_shared_per_block)});
}

// A cluster lies in one group of SMs and needs as many of them as it has blocks, even where several
// of its blocks would fit into one: an H200's driver counts like this.
int resident_clusters(const Function& function, int threads, std::size_t dynamic_shared_bytes,
                      int cluster_size) {
  const int per_sm = blocks_per_sm(function, threads, dynamic_shared_bytes);
  int clusters = 0;
  for (const int group : function.context->model->cluster_groups)
    if (group >= cluster_size) clusters += group * per_sm / cluster_size;
  return clusters;
}

}  // namespace bwgemm::vgpu::driver
