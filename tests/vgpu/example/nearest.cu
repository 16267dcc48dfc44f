// SPDX-License-Identifier: Apache-2.0
// The nearest key of each query: where its dot product is largest. A CTA has 64 queries. Its fifth
// warp loads keys, 64 at a time, into two slots by TMA; its other four multiply by wgmma, remember
// the best of each query, and give the slot back. Queries and keys are rows of 64 halves.
#include <cstdint>
#include <cuda.h>

constexpr int rows = 64, row_bytes = 128, slots = 2;
constexpr int tile_bytes = rows * row_bytes;
constexpr int consumers = 128;  // threads

struct Shared {
  alignas(1024) std::uint8_t queries[tile_bytes];
  alignas(1024) std::uint8_t keys[slots][tile_bytes];
  std::uint64_t queries_full, keys_full[slots], keys_empty[slots];
};

__device__ inline std::uint32_t address_of(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ inline void set_up(std::uint64_t& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&barrier)), "r"(arrivals)
               : "memory");
}

__device__ inline void arrive(std::uint64_t& barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(address_of(&barrier))
               : "memory");
}

__device__ inline void wait(std::uint64_t& barrier, int parity) {
  asm volatile(
      "{\n"
      " .reg .pred done;\n"
      "again:\n"
      " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      " @!done bra again;\n"
      "}" ::"r"(address_of(&barrier)),
      "r"(parity)
      : "memory");
}

// 64 rows from `first` on; the barrier's phase ends when they have arrived.
__device__ inline void load(std::uint8_t* to, const CUtensorMap& from, int first,
                            std::uint64_t& full) {
  asm volatile(
      "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&full)),
      "r"(tile_bytes)
      : "memory");
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(address_of(to)),
      "l"(&from), "r"(0), "r"(first), "r"(address_of(&full))
      : "memory");
}

// 64 rows of 128 bytes with the 128-byte swizzle; the next 8 rows are 1 KiB further.
__device__ inline std::uint64_t operand(const std::uint8_t* tile) {
  return address_of(tile) >> 4 | std::uint64_t{1024 >> 4} << 32 | std::uint64_t{1} << 62;
}

// Begins scores += 16 of the 64 products of each pair of rows.
__device__ inline void multiply(float (&d)[32], std::uint64_t queries, std::uint64_t keys,
                                int accumulates) {
  asm volatile(
      "{\n"
      " .reg .pred accumulates;\n"
      " setp.ne.b32 accumulates, %34, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n"
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,\n"
      "  %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n"
      " %32, %33, accumulates, 1, 1, 0, 0;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(queries), "l"(keys), "r"(accumulates));
}

__device__ inline void wait_for_products(float (&d)[32]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");  // nobody reads it earlier
}

// The best key of the two queries of which a thread holds every fourth pair of scores.
struct Best {
  float score[2] = {-1e30f, -1e30f};
  int key[2] = {0, 0};

  __device__ void consider(int query, float its_score, int its_key) {
    const bool is_better =
        its_score > score[query] || (its_score == score[query] && its_key < key[query]);
    score[query] = is_better ? its_score : score[query];
    key[query] = is_better ? its_key : key[query];
  }
};

__device__ inline void store(Best& best, int* nearest) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  for (int query = 0; query < 2; ++query) {
    for (int distance = 1; distance < 4; distance *= 2)
      best.consider(query, __shfl_xor_sync(~0u, best.score[query], distance),
                    __shfl_xor_sync(~0u, best.key[query], distance));
    if (lane % 4 == 0) nearest[blockIdx.x * rows + row + 8 * query] = best.key[query];
  }
}

__device__ inline void produce(Shared& shared, const CUtensorMap& queries, const CUtensorMap& keys,
                               int tiles) {
  load(shared.queries, queries, blockIdx.x * rows, shared.queries_full);
  for (int tile = 0; tile < tiles; ++tile) {
    const int slot = tile % slots, round = tile / slots;
    if (round > 0) wait(shared.keys_empty[slot], (round - 1) % 2);
    load(shared.keys[slot], keys, tile * rows, shared.keys_full[slot]);
  }
}

template <bool releases_early>
__device__ inline void consume(Shared& shared, int tiles, int* nearest) {
  Best best;
  wait(shared.queries_full, 0);
  for (int tile = 0; tile < tiles; ++tile) {
    const int slot = tile % slots;
    wait(shared.keys_full[slot], tile / slots % 2);
    float scores[32];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < 4; ++step)  // 16 of the 64 halves: 32 bytes
      multiply(scores, operand(shared.queries) + step * 2, operand(shared.keys[slot]) + step * 2,
               step > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (releases_early) arrive(shared.keys_empty[slot]);  // the race: wgmma still reads the keys
    wait_for_products(scores);
    if (!releases_early) arrive(shared.keys_empty[slot]);
#pragma unroll
    for (int i = 0; i < 32; ++i)
      best.consider(i / 2 % 2, scores[i], tile * rows + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2);
  }
  store(best, nearest);
}

template <bool releases_early>
__device__ inline void find_nearest(const CUtensorMap& queries, const CUtensorMap& keys, int tiles,
                                    int* nearest) {
  __shared__ Shared shared;
  if (threadIdx.x == 0) {
    set_up(shared.queries_full, 1);
    for (int slot = 0; slot < slots; ++slot) {
      set_up(shared.keys_full[slot], 1);
      set_up(shared.keys_empty[slot], consumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < consumers)
    consume<releases_early>(shared, tiles, nearest);
  else if (threadIdx.x == consumers)
    produce(shared, queries, keys, tiles);
}

extern "C" __global__ void __launch_bounds__(160)
    nearest(const __grid_constant__ CUtensorMap queries, const __grid_constant__ CUtensorMap keys,
            int tiles, int* out) {
  find_nearest<false>(queries, keys, tiles, out);
}

extern "C" __global__ void __launch_bounds__(160)
    nearest_with_a_race(const __grid_constant__ CUtensorMap queries,
                        const __grid_constant__ CUtensorMap keys, int tiles, int* out) {
  find_nearest<true>(queries, keys, tiles, out);
}
