// SPDX-License-Identifier: Apache-2.0
// What memory can do at most: a copy and a sum of everything; and kernels that do nothing,
// with the parameters of the library's. bench/ceiling.cpp and bench/host_path.cpp launch them.
#include <cstdint>

#include "device/params.h"
#include "device/residues.h"

namespace {

constexpr int unrolled = 8;

// Index of this thread's first 16 bytes, and the distance to its next `unrolled` of them. A block
// takes unrolled * blockDim.x neighbours.
struct Walk {
  std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * unrolled + threadIdx.x;
  std::int64_t step = std::int64_t{gridDim.x} * blockDim.x * unrolled;
};

}  // namespace

// `count`: of 16 bytes, a multiple of what one block takes.
extern "C" __global__ void __launch_bounds__(512)
    copy(const uint4* from, uint4* to, std::int64_t count) {
  const Walk walk;
  for (std::int64_t at = walk.first; at < count; at += walk.step) {
    uint4 values[unrolled];
#pragma unroll
    for (int i = 0; i < unrolled; ++i) values[i] = __ldcs(&from[at + i * blockDim.x]);
#pragma unroll
    for (int i = 0; i < unrolled; ++i) __stcs(&to[at + i * blockDim.x], values[i]);
  }
}

// Writes only if all bits of a thread's numbers, taken together by exclusive or, are ones.
extern "C" __global__ void __launch_bounds__(512)
    read(const uint4* from, uint4* to, std::int64_t count) {
  const Walk walk;
  std::uint32_t all = 0;
  for (std::int64_t at = walk.first; at < count; at += walk.step) {
    uint4 values[unrolled];
#pragma unroll
    for (int i = 0; i < unrolled; ++i) values[i] = __ldcs(&from[at + i * blockDim.x]);
#pragma unroll
    for (int i = 0; i < unrolled; ++i) all ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
  }
  if (all == 0xffffffff) to->x = all;
}

extern "C" __global__ void empty(const __grid_constant__ bwgemm::KernelParams) {}
extern "C" __global__ void empty_with_maps(const __grid_constant__ bwgemm::MappedParams) {}
extern "C" __global__ void empty_with_residues(const __grid_constant__ bwgemm::ResidueParams) {}
