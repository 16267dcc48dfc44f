// SPDX-License-Identifier: Apache-2.0
// The kernel for products of at most eight rows. Weights (B) stream from memory through registers
// to mma.sync; activations (A) wait in shared memory. Any alignment, any leading dimension.
// Persistent over units of (batch, split of k, tile of n).
//
// Roles (256 threads)   all load and multiply. A team has its own units: it is eight warps, which
//                       share k, or for a short k one warp
// Shared memory         each team's slab of activations; the warps' partials
// Timeline, per round   each stage: multiply what was loaded a round ago, load for the next round,
//                       which may be the first of the next unit
//           per unit    partials to shared memory, barrier, add in the order of the warps, write D
#pragma once

#include <type_traits>

#include "device/ptx/sync.h"
#include "device/trace.h"
#include "families/dot/activations.h"
#include "families/dot/k_major.h"
#include "families/dot/n_major.h"
#include "families/dot/output.h"
#include "families/dot/vectors.h"

namespace bwgemm::dot {

template <KernelConfig config>
using Weights =
    std::conditional_t<config.b == Major::k, KMajorWeights<config>, NMajorWeights<config>>;

// Adds the partials of the warps, and of the splits where k is split, and writes D.
template <KernelConfig config>
BWGEMM_DEVICE void finish(const KernelParams& params, const Scaling& scaling, const Unit& unit,
                          const Weights<config>& weights, std::uint32_t partials, int splits) {
  const OutputTile<config> tile(params, unit, weights.columns(unit));
  const auto sum_of_warps = [&](int row, int column) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < Team<config>::warps; ++warp)
      sum += __uint_as_float(ptx::ld_shared(
          partials + warp * layout(config).partials_bytes +
          4 * (row * layout(config).partials_pitch + column + weights.column_shift(unit, warp))));
    return sum;
  };
  if (splits > 1) {
    tile.for_each([&](int number, int row, int column) {
      ptx::st_global(tile.partial(unit.split, number), __float_as_uint(sum_of_warps(row, column)));
    });
    if (!tile.is_last()) return;
    tile.add_splits(partials);
  }
  const std::int64_t first_column = weights.first_column(unit);
  tile.for_each([&](int number, int row, int column) {
    const float sum = splits > 1 ? __uint_as_float(ptx::ld_shared(partials + 4 * number))
                                 : sum_of_warps(row, column);
    write_element(params, scaling, unit.batch, row,
                  first_column + static_cast<std::int64_t>(column) * weights.column_step(), sum);
  });
}

// Leaves the partials of a team's warps where finish() finds them.
template <KernelConfig config>
BWGEMM_DEVICE void share_partials(const Weights<config>& weights, int warp,
                                  const typename Weights<config>::Partials& partials,
                                  std::uint32_t partials_at) {
  using Team = Team<config>;
  Team::synchronize();  // orders the reads of the last unit's partials before these stores
  weights.store_partials(partials, partials_at + warp * layout(config).partials_bytes,
                         layout(config).partials_pitch);
  Team::synchronize();  // orders the stores before the reads of other threads
}

// What is loaded behind `ahead`: the rest of the unit, or the beginning of the one at `next_index`.
template <KernelConfig config>
BWGEMM_DEVICE void look_ahead(const KernelParams& params, const Weights<config>& weights,
                              bool is_last_round, std::uint32_t next_index, std::uint32_t units,
                              int splits, typename Weights<config>::Position& ahead) {
  if (!is_last_round)
    weights.advance(ahead);
  else if (next_index < units)
    ahead = weights.at(unit_at(params, next_index, splits));
  else
    ahead = {};
}

template <KernelConfig config>
BWGEMM_DEVICE void multiply_rows(const KernelParams& params, std::uint32_t shared) {
  using Team = Team<config>;
  const std::uint32_t partials_at = shared + layout(config).partials +
                                    Team::number() * Team::warps * layout(config).partials_bytes;
  const Lane lane(Team::thread());
  Trace trace(params, TraceRole::team, Team::number(), Team::thread() == 0);
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  const Scaling scaling = load_scaling(params);
  Weights<config> weights(params, lane);
  // Without a product nothing is loaded, and the partials are zero.
  const bool multiplies = k_blocks_to_run(params, scaling.alpha) != 0;
  const int splits = multiplies ? params.splits : 1;
  const std::uint32_t units = tiles_of_all_batches(params) * splits;
  const std::uint32_t step = gridDim.x * teams_of(config).count;
  std::uint32_t index = blockIdx.x + Team::number() * gridDim.x;  // few units: on all CTAs
  if (index >= units) return;
  Unit unit = unit_at(params, index, splits);
  typename Weights<config>::Position ahead{};
  if (multiplies) ahead = weights.at(unit);
#pragma unroll
  for (int stage = 0; stage < Weights<config>::stages; ++stage) weights.load(stage, ahead);
  Activations<config> activations(params,
                                  shared + Team::number() * layout(config).team_activation_bytes,
                                  weights.longest_split(), weights.position_classes());
  const std::uint32_t activation_row = activations.row_of(lane.group, weights.class_of(lane.warp));
  const int slab_rounds = activations.slab_rounds();
  for (; index < units; index += step) {
    trace(TraceEvent::tile, index);
    typename Weights<config>::Position now = ahead;
    typename Weights<config>::Partials partials{};
    const int rounds = multiplies ? weights.rounds(unit, now) : 0;
    const std::uint32_t next_index = index + step;
    std::uint32_t slab = activation_row;
    int slab_end = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      if (round == slab_end) {
        trace(TraceEvent::stage, round);
        activations.provide(unit.batch, weights.first_k(unit, now, round));
        slab = activation_row - 2 * weights.first_position(unit, round);
        slab_end += slab_rounds;
      }
      look_ahead<config>(params, weights, round + 1 == rounds, next_index, units, splits, ahead);
#pragma unroll
      for (int stage = 0; stage < Weights<config>::stages; ++stage) {
        trace(TraceEvent::wait_full, round);
        trace.when_there(weights.first_word(stage), TraceEvent::multiply, round);
        weights.multiply_stage(stage, now, slab, partials);
        weights.load(stage, ahead);
      }
      weights.advance(now);
    }
    if (next_index >= units && params.next_start != NextStart::when_gone)
      ptx::griddepcontrol_launch_dependents();
    trace(TraceEvent::sum);
    share_partials<config>(weights, lane.warp, partials, partials_at);
    trace(TraceEvent::epilogue);
    finish<config>(params, scaling, unit, weights, partials_at, splits);
    unit = unit_at(params, next_index, splits);  // found twice: to keep it costs registers
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const KernelParams& params) {
  extern __shared__ __align__(128) std::uint8_t shared_memory[];
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory));
  if constexpr (is_of_vectors(config))
    multiply_vectors<config>(params, shared);
  else
    multiply_rows<config>(params, shared);
}

}  // namespace bwgemm::dot
