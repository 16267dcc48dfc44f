// SPDX-License-Identifier: Apache-2.0
// Question 8: where ldmatrix and stmatrix put each half of each register of each lane.
#include "vgpu/calibration/kernels/common.h"

namespace bwgemm::calibration {

inline constexpr int matrices_bytes = 512;  // four of 8 x 8

// A register's halves say who they are: lane, register, half.
VGPU_DEVICE std::uint32_t marked(int i) {
  const std::uint32_t low = threadIdx.x % 32 * 8 + i * 2;
  return (low + 1) << 16 | low;
}

// Rows of the matrices follow each other; lane l addresses row l.
template <class Store>
VGPU_DEVICE void stored(uint4* out, Store store) {
  const std::uint32_t to = shared_address(dynamic_shared);
  ptx::st_shared_v4(to + 16 * threadIdx.x, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff);
  __syncwarp();
  store(to + 16 * threadIdx.x);
  __syncwarp();
  copy_out(out, to, matrices_bytes);
  __syncwarp();
}

template <class Load>
VGPU_DEVICE void loaded(uint4* out, Load load) {
  const std::uint32_t from = shared_address(dynamic_shared);
  for (int i = 0; i < 4; ++i) ptx::st_shared(from + 16 * threadIdx.x + 4 * i, marked(i));
  __syncwarp();
  std::uint32_t v[4] = {};
  load(from + 16 * threadIdx.x, v);
  out[threadIdx.x] = make_uint4(v[0], v[1], v[2], v[3]);
  __syncwarp();
}

}  // namespace bwgemm::calibration

// 512 bytes each: stmatrix x1, x1.trans, x2, x2.trans, x4, x4.trans.
extern "C" __global__ void __launch_bounds__(32, 1) stores(uint4* out) {
  using namespace bwgemm;
  using namespace bwgemm::calibration;
  stored(out, [](std::uint32_t to) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(marked(0))
                 : "memory");
  });
  stored(out + 32, [](std::uint32_t to) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to),
                 "r"(marked(0))
                 : "memory");
  });
  stored(out + 64, [](std::uint32_t to) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to),
                 "r"(marked(0)), "r"(marked(1))
                 : "memory");
  });
  stored(out + 96, [](std::uint32_t to) { ptx::stmatrix_m8n8_x2_trans(to, marked(0), marked(1)); });
  stored(out + 128, [](std::uint32_t to) {
    ptx::stmatrix_m8n8_x4(to, marked(0), marked(1), marked(2), marked(3));
  });
  stored(out + 160, [](std::uint32_t to) {
    ptx::stmatrix_m8n8_x4_trans(to, marked(0), marked(1), marked(2), marked(3));
  });
}

// 512 bytes each, four words a lane: ldmatrix x1, x1.trans, x2, x2.trans, x4, x4.trans.
extern "C" __global__ void __launch_bounds__(32, 1) loads(uint4* out) {
  using namespace bwgemm;
  using namespace bwgemm::calibration;
  using Values = std::uint32_t(&)[4];
  loaded(out, [](std::uint32_t from, Values v) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(v[0])
                 : "r"(from)
                 : "memory");
  });
  loaded(out + 32, [](std::uint32_t from, Values v) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(v[0])
                 : "r"(from)
                 : "memory");
  });
  loaded(out + 64, [](std::uint32_t from, Values v) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(v[0]), "=r"(v[1])
                 : "r"(from)
                 : "memory");
  });
  loaded(out + 96, [](std::uint32_t from, Values v) {
    std::uint32_t two[2];
    ptx::ldmatrix_m8n8_x2_trans(from, two);
    v[0] = two[0];
    v[1] = two[1];
  });
  loaded(out + 128, [](std::uint32_t from, Values v) { ptx::ldmatrix_m8n8_x4(from, v); });
  loaded(out + 160, [](std::uint32_t from, Values v) { ptx::ldmatrix_m8n8_x4_trans(from, v); });
}
