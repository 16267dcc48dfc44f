// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor with cta_group::2, tensor loads of a CTA that multiplies with its peer, and
// the arrival that announces them to the peer.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void mbarrier_arrive_expect_tx_relaxed_cluster(std::uint32_t cluster_barrier,
                                                             std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                   cluster_barrier),
               "r"(bytes)
               : "memory");
}

// The barrier may lie in the destination's CTA or in its peer of the pair.
BWGEMM_DEVICE void cp_async_bulk_tensor_3d_cta_group_2(std::uint32_t destination,
                                                       const TensorMap& map, int c0, int c1, int c2,
                                                       std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::"
      "2 "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(barrier)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_2d_cta_group_2(std::uint32_t destination,
                                                       const TensorMap& map, int c0, int c1,
                                                       std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::"
      "2 "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(barrier)
      : "memory");
}

// To the same offset in every CTA of the mask; each one's bytes count at the barrier in that CTA of
// its pair which has the parity of the named barrier's CTA.
BWGEMM_DEVICE void cp_async_bulk_tensor_3d_cta_group_2_multicast(std::uint32_t destination,
                                                                 const TensorMap& map, int c0,
                                                                 int c1, int c2,
                                                                 std::uint32_t barrier,
                                                                 std::uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
      "cluster.cta_group::2 "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(barrier), "h"(cta_mask)
      : "memory");
}

}  // namespace bwgemm::ptx
