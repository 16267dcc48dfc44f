// SPDX-License-Identifier: Apache-2.0
// Split-K within a cluster: the splits of a tile are the CTAs of one cluster and have no other
// work. All but the first send their partial sums to the shared memory of the first CTA, which adds
// them in the order of the splits, as split.h does, and so to the same bits. The partial sums that
// arrive lie in the last slots of the first CTA's operand ring.
//
// Handover   first -> others   may_send: a lane of each of its warps, behind its last product; not
//                              needed where k is so short that these slots stay empty
//            others -> first   received, for each warpgroup: bytes of st.async
#pragma once

#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/sm90/cta.h"
#include "families/sm90/parts.h"
#include "families/sm90/split.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class ClusterReduction {
  static constexpr int count = warpgroups_of(config).accumulators;
  static constexpr int per_row_block = config.tile.n / 2;
  static constexpr int warpgroup_threads = 128;
  static constexpr int unit = 4;  // floats, of neighbouring threads next to each other
  static constexpr int unit_bytes = unit * sizeof(float);
  static constexpr int unit_pitch = warpgroup_threads * unit_bytes;
  static constexpr int partial_bytes = count / unit * unit_pitch;  // of a warpgroup
  static constexpr int tile_bytes = warpgroups_of(config).consumers * partial_bytes;
  static constexpr int ring_bytes = config.stages * Cta<config>::offsets.stage_bytes;

 public:
  BWGEMM_DEVICE ClusterReduction(const KernelParams& params, const Cta<config>& cta, int warpgroup)
      : cta_(cta),
        warpgroup_(warpgroup),
        splits_(params.splits),
        first_byte_(ring_bytes - (splits_ - 1) * tile_bytes),
        may_send_at_once_(params.k_per_split / config.tile.k <=
                          static_cast<int>(first_byte_ / cta.offsets.stage_bytes)) {}

  BWGEMM_DEVICE static void init(const Cta<config>& cta) {
    constexpr int warpgroups = warpgroups_of(config).consumers;
    may_send(cta).init(warps_per_warpgroup * warpgroups);
    for (int warpgroup = 0; warpgroup < warpgroups; ++warpgroup) arrived(cta, warpgroup).init(1);
  }

  // True in the first split's CTA, which then has the sums of all.
  BWGEMM_DEVICE bool sum(std::uint32_t split, Accumulators<config>& sums) const {
    ptx::barrier_cluster_wait();  // every peer has begun, and made its barriers
    if (split > 0) {
      send(split, sums);
      return false;
    }
    receive(sums);
    return true;
  }

 private:
  static constexpr std::uint32_t first_rank = 0;

  // The first CTA has read its operands.
  BWGEMM_DEVICE static Barrier may_send(const Cta<config>& cta) {
    return {cta.shared + cta.offsets.may_send};
  }
  // The partial sums of the others have arrived in their place, one split behind the other.
  BWGEMM_DEVICE static Barrier arrived(const Cta<config>& cta, int warpgroup) {
    return {cta.shared + cta.offsets.received + 8 * warpgroup};
  }

  // This thread's first unit of what a split sends.
  BWGEMM_DEVICE std::uint32_t sums_of(std::uint32_t split) const {
    return cta_.shared + first_byte_ + (split - 1) * tile_bytes + warpgroup_ * partial_bytes +
           threadIdx.x % warpgroup_threads * unit_bytes;
  }

  BWGEMM_DEVICE void send(std::uint32_t split, const Accumulators<config>& sums) const {
    const std::uint32_t to = ptx::mapa(sums_of(split), first_rank);
    const std::uint32_t received = ptx::mapa(arrived(cta_, warpgroup_).address, first_rank);
    if (!may_send_at_once_) may_send(cta_).wait_cluster(0);
#pragma unroll
    for (int i = 0; i < count; i += unit) {
      const float* from = &sums[i / per_row_block][i % per_row_block];
      ptx::st_async_v4_f32(to + i / unit * unit_pitch, received, from[0], from[1], from[2],
                           from[3]);
    }
  }

  BWGEMM_DEVICE void receive(Accumulators<config>& sums) const {
    const Barrier received = arrived(cta_, warpgroup_);
    if (threadIdx.x % warpgroup_threads == 0)
      ptx::mbarrier_arrive_expect_tx(received.address, (splits_ - 1) * partial_bytes);
    // Each warp answers for its own products, which are complete: there is nothing to release.
    if (const std::uint32_t peer = ptx::laneid() + 1; !may_send_at_once_ && peer < splits_)
      ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(may_send(cta_).address, peer));
    received.wait_cluster(0);
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i / per_row_block][i % per_row_block] += 0;  // -0 to 0
#pragma unroll 1
    for (std::uint32_t split = first_rank + 1; split < splits_; ++split) {
      const std::uint32_t from = sums_of(split);
#pragma unroll
      for (int i = 0; i < count; i += unit) {
        std::uint32_t values[unit];
        ptx::ld_shared_v4(from + i / unit * unit_pitch, values);
#pragma unroll
        for (int j = 0; j < unit; ++j)
          sums[(i + j) / per_row_block][(i + j) % per_row_block] += __uint_as_float(values[j]);
      }
    }
  }

  const Cta<config>& cta_;
  int warpgroup_;
  std::uint32_t splits_;
  std::uint32_t first_byte_;  // of the sums that arrive
  bool may_send_at_once_;
};

}  // namespace bwgemm::sm90
