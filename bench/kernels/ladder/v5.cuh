// SPDX-License-Identifier: Apache-2.0
// v5: v4 with pairs of CTAs that multiply together. Each loads its rows of A and half of B's, and
// reports to the leader's barriers; the leader multiplies for both and tells both.
#pragma once

#include "device/ptx/cp_async_bulk_pair.h"
#include "ladder/v4.cuh"

namespace bwgemm::ladder::v5 {

inline constexpr Shape shape = shape_of("v5");
inline constexpr std::uint32_t leader = 0;
inline constexpr std::uint16_t both_ctas = 0b11;

struct Technique : v2b::Technique {
  template <int depth, int rows>
  BWGEMM_DEVICE static void load(std::uint32_t to, const TensorMap& map, int row, int k,
                                 std::uint32_t barrier) {
    ptx::cp_async_bulk_tensor_3d_cta_group_2(to, map, 0, row, k / 64, barrier);
  }
  BWGEMM_DEVICE static std::uint32_t full_barrier(std::uint32_t own) {
    return ptx::mapa(own, leader);
  }
  // Relaxed: the bytes of TMA are what the barrier hands over.
  BWGEMM_DEVICE static void expect(std::uint32_t barrier, std::uint32_t bytes) {
    ptx::mbarrier_arrive_expect_tx_relaxed_cluster(barrier, bytes);
  }
  BWGEMM_DEVICE static void commit(std::uint32_t barrier) {
    ptx::tcgen05_commit_multicast(barrier, both_ctas);
  }
  BWGEMM_DEVICE static void meet() {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
};

}  // namespace bwgemm::ladder::v5
