// SPDX-License-Identifier: Apache-2.0
// What Hopper can do at most: products of operands that lie in shared memory, and loads that nobody
// waits for. bench/ceiling.cpp launches them; nothing here computes a result.
#include "device/params.h"
#include "device/ptx/cp_async_bulk.h"
#include "device/ptx/sync.h"
#include "device/ptx/wgmma_mma.h"
#include "device/ring.h"
#include "families/sm90/consumer.h"

namespace bwgemm::bench {

// Slots of operands that the products walk through, so that no two that follow each other see the
// same numbers.
inline constexpr int slots = 4;

inline constexpr MmaTypes bf16{Dtype::bf16, Dtype::bf16};

template <int warpgroups, int columns>
struct Operands {
  static constexpr int a_bytes = warpgroups * 64 * swizzle_row_bytes;
  static constexpr int slot_bytes = a_bytes + columns * swizzle_row_bytes;
};

inline constexpr float unlikely = 1.2345678e30f;

// `blocks` products of 64 * warpgroups by `columns`, 64 deep. `pool`: numbers for all slots.
template <int warpgroups, int columns>
BWGEMM_DEVICE void multiply(const uint4* pool, float* sink, int blocks) {
  using At = Operands<warpgroups, columns>;
  extern __shared__ __align__(1024) uint4 memory[];
  for (int i = threadIdx.x; i < slots * At::slot_bytes / 16; i += blockDim.x) memory[i] = pool[i];
  ptx::fence_proxy_async_shared();  // these writes before the reads of wgmma
  __syncthreads();

  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  const int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  const std::uint64_t a =
      sm90::operand_descriptor(shared + warpgroup * 64 * swizzle_row_bytes, Major::k);
  const std::uint64_t b = sm90::operand_descriptor(shared + At::a_bytes, Major::k);
  float accumulators[columns / 2] = {};
  for (int block = 0; block < blocks; ++block) {
    ptx::wgmma_fence();
    const std::uint64_t slot = block % slots * sm90::descriptor_step(At::slot_bytes);
#pragma unroll
    for (int step = 0; step < swizzle_row_bytes / instruction_k_bytes; ++step) {
      const std::uint64_t at = slot + sm90::descriptor_step(step * instruction_k_bytes);
      ptx::wgmma_mma_async<bf16, 0, 0>(accumulators, a + at, b + at, true);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
  }
  ptx::wgmma_wait_group<0>();
  float sum = 0;
#pragma unroll
  for (float& value : accumulators) {
    asm volatile("" : "+f"(value)::"memory");  // not read before the wait
    sum += value;
  }
  // Without a use of the sums ptxas leaves the products out.
  if (sum == unlikely) *sink = sum;
}

// As one wave of a product loads it: CTAs in a grid of tiles of 128 x 256 that share rows of A and
// columns of B, `rounds` times along all of k.
struct DeliveryParams {
  TensorMap a_map, b_map;
  std::int32_t tiles_n, k_blocks, rounds;
};

inline constexpr int a_rows = 128, b_rows = 256;
inline constexpr int stage_bytes = (a_rows + b_rows) * swizzle_row_bytes;

// One thread; a slot is loaded again as soon as it is full.
BWGEMM_DEVICE void deliver(const DeliveryParams& params) {
  extern __shared__ __align__(1024) std::uint8_t bytes[];
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(bytes));
  const std::uint32_t barriers = shared + slots * stage_bytes;
  for (int slot = 0; slot < slots; ++slot) Barrier{barriers + 8 * slot}.init(1);
  ptx::fence_mbarrier_init();
  const int row = blockIdx.x / params.tiles_n * a_rows,
            column = blockIdx.x % params.tiles_n * b_rows;
  const int loads = params.rounds * params.k_blocks;
  Cursor at;
  for (int load = 0; load < loads + slots; ++load) {
    const Barrier full{barriers + 8 * at.stage};
    if (load >= slots) full.wait(at.phase ^ 1);  // the slot's last loads
    if (load < loads) {
      const int k = load % params.k_blocks * row_elements(MmaKind::b16);
      const std::uint32_t to = shared + at.stage * stage_bytes;
      ptx::mbarrier_arrive_expect_tx(full.address, stage_bytes);
      ptx::cp_async_bulk_tensor_3d(to, params.a_map, k, row, 0, full.address);
      ptx::cp_async_bulk_tensor_3d(to + a_rows * swizzle_row_bytes, params.b_map, k, column, 0,
                                   full.address);
    }
    at.advance(slots);
  }
}

}  // namespace bwgemm::bench

// clang-format off
extern "C" __global__ void __launch_bounds__(256, 1) tensor_2x256(const uint4* pool, float* sink, int blocks) { bwgemm::bench::multiply<2, 256>(pool, sink, blocks); }
extern "C" __global__ void __launch_bounds__(256, 1) tensor_2x192(const uint4* pool, float* sink, int blocks) { bwgemm::bench::multiply<2, 192>(pool, sink, blocks); }
extern "C" __global__ void __launch_bounds__(256, 1) tensor_2x128(const uint4* pool, float* sink, int blocks) { bwgemm::bench::multiply<2, 128>(pool, sink, blocks); }
extern "C" __global__ void __launch_bounds__(256, 1) tensor_2x64(const uint4* pool, float* sink, int blocks) { bwgemm::bench::multiply<2, 64>(pool, sink, blocks); }
extern "C" __global__ void __launch_bounds__(384, 1) tensor_3x192(const uint4* pool, float* sink, int blocks) { bwgemm::bench::multiply<3, 192>(pool, sink, blocks); }
extern "C" __global__ void __launch_bounds__(128, 1) tensor_1x256(const uint4* pool, float* sink, int blocks) { bwgemm::bench::multiply<1, 256>(pool, sink, blocks); }
// clang-format on

extern "C" __global__ void __launch_bounds__(32, 1)
    delivery(const __grid_constant__ bwgemm::bench::DeliveryParams params) {
  if (threadIdx.x == 0) bwgemm::bench::deliver(params);
}
