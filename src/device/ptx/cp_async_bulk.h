// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.*: tensor loads into shared memory, tensor stores from it, and bulk groups. The
// library's maps have two or three dimensions, of an operand with a gate five. Groups belong to the
// thread that issued the stores.
#pragma once

#include "device/params.h"
#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void prefetch_tensormap(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_3d(std::uint32_t destination, const TensorMap& map, int c0,
                                           int c1, int c2, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(barrier)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_2d(std::uint32_t destination, const TensorMap& map, int c0,
                                           int c1, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(barrier)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_3d_multicast(std::uint32_t destination,
                                                     const TensorMap& map, int c0, int c1, int c2,
                                                     std::uint32_t barrier,
                                                     std::uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(barrier), "h"(cta_mask)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_5d(std::uint32_t destination, const TensorMap& map, int c0,
                                           int c1, int c2, int c3, int c4, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "r"(barrier)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_5d_multicast(std::uint32_t destination,
                                                     const TensorMap& map, int c0, int c1, int c2,
                                                     int c3, int c4, std::uint32_t barrier,
                                                     std::uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "r"(barrier), "h"(cta_mask)
      : "memory");
}

// How long L2 keeps lines: as others, or, of what streams by, no longer than it must.
BWGEMM_DEVICE std::uint64_t l2_policy(bool streams_by) {
  std::uint64_t first, normal;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(normal));
  return streams_by ? first : normal;
}

BWGEMM_DEVICE void cp_async_bulk_tensor_2d_store(const TensorMap& map, int c0, int c1,
                                                 std::uint32_t source, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint "
      "[%0, {%1, %2}], [%3], %4;" ::"l"(&map),
      "r"(c0), "r"(c1), "r"(source), "l"(policy)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_tensor_3d_store(const TensorMap& map, int c0, int c1, int c2,
                                                 std::uint32_t source, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint "
      "[%0, {%1, %2, %3}], [%4], %5;" ::"l"(&map),
      "r"(c0), "r"(c1), "r"(c2), "r"(source), "l"(policy)
      : "memory");
}

BWGEMM_DEVICE void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until the writes of all but the last `pending` groups are made, or only their reads.
template <int pending>
BWGEMM_DEVICE void cp_async_bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}
template <int pending>
BWGEMM_DEVICE void cp_async_bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

}  // namespace bwgemm::ptx
