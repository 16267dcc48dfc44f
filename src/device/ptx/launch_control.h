// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol.*: taking over clusters of the grid that have not begun. A response is 16
// bytes of shared memory.
#pragma once

#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

// Asks for a cluster; the answer arrives in every CTA of this cluster, at the same offsets, and
// counts 16 bytes at its barrier.
BWGEMM_DEVICE void clusterlaunchcontrol_try_cancel_multicast(std::uint32_t response,
                                                             std::uint32_t barrier) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::"
      "cluster::all.b128 [%0], [%1];" ::"r"(response),
      "r"(barrier)
      : "memory");
}

struct CanceledCluster {
  bool exists;
  std::uint32_t first_cta;  // its blockIdx.x
};

// One block of assembly: a register of 128 bits has no type in C++.
BWGEMM_DEVICE CanceledCluster clusterlaunchcontrol_query_cancel(std::uint32_t response) {
  std::uint32_t exists, first_cta;
  asm volatile(
      "{\n"
      " .reg .b128 response;\n"
      " .reg .pred exists;\n"
      " ld.shared.b128 response, [%2];\n"
      " clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 exists, response;\n"
      " selp.u32 %0, 1, 0, exists;\n"
      " mov.b32 %1, 0;\n"
      " @exists clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, response;\n"
      "}"
      : "=&r"(exists), "=&r"(first_cta)
      : "r"(response)
      : "memory");
  return {exists != 0, first_cta};
}

// Orders what the caller did with memory before what is done behind a wait of cluster scope.
BWGEMM_DEVICE void mbarrier_arrive_cluster(std::uint32_t cluster_barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier)
               : "memory");
}

}  // namespace bwgemm::ptx
