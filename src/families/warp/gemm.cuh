// SPDX-License-Identifier: Apache-2.0
// The kernel of small products, on both architectures: each warp computes tiles by itself, from
// global memory to registers to global memory. It waits for no other warp and its code is short, so
// a launch is over soon after its operands arrive. Any alignment, any leading dimension. Persistent
// over units of (batch, tile).
//
// Roles (128 threads)   four warps, each with units of its own
// Shared memory         none
// Timeline, per unit    load the last step of k if part of it exists, and the first whole steps;
//                       k: multiply step i, load step i + steps_ahead; multiply the last step;
//                       C, combine -> D
#pragma once

#include "device/pointers.h"
#include "device/ptx/mma.h"
#include "device/ptx/sync.h"
#include "device/raster.h"
#include "device/trace.h"
#include "families/warp/operand.h"
#include "families/warp/output.h"

namespace bwgemm::warp {

template <KernelConfig config>
class Product {
 public:
  static constexpr int a_blocks = config.tile.m / 8, b_blocks = config.tile.n / 8;
  using Accumulators = warp::Accumulators<config>;

  BWGEMM_DEVICE Product(const KernelParams& params, const TileIndex& at)
      : a_data_(operand_at(params, params.a, at.batch)),
        b_data_(operand_at(params, params.b, at.batch)),
        a_(params.a, a_data_, std::int64_t{at.m} * config.tile.m, params.m),
        b_(params.b, b_data_, std::int64_t{at.n} * config.tile.n, params.n) {}

  BWGEMM_DEVICE void run(const KernelParams& params, int k, Accumulators& accumulators) {
    if (loads_pairs(params.a, a_data_) && loads_pairs(params.b, b_data_))
      run_steps<true>(params.input_types.a, k, accumulators);
    else
      run_steps<false>(params.input_types.a, k, accumulators);
  }

 private:
  struct Step {
    StepWords<a_blocks> a;
    StepWords<b_blocks> b;
  };

  BWGEMM_DEVICE static const char* operand_at(const KernelParams& params,
                                              const StridedMatrix& matrix, std::int64_t batch) {
    return direct::data_of_batch(params, matrix.data, batch) + 2 * batch * matrix.batch_stride;
  }

  template <bool in_pairs>
  BWGEMM_DEVICE void run_steps(Dtype type, int k, Accumulators& accumulators) {
    constexpr int ahead = steps_ahead(config);
    const int whole = k / step_depth, rest = k % step_depth;
    Step last, steps[ahead];
    if (rest > 0) {
      a_.load_part(whole, rest, last.a);
      b_.load_part(whole, rest, last.b);
    }
#pragma unroll 1
    for (int first = -ahead; first < whole; first += ahead)
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        if (first >= 0 && first + i < whole) multiply<in_pairs>(type, steps[i], accumulators);
        if (first + i + ahead >= whole) continue;
        a_.template load<in_pairs>(steps[i].a);
        b_.template load<in_pairs>(steps[i].b);
      }
    if (rest > 0) multiply<false>(type, last, accumulators);
  }

  template <bool in_pairs>
  BWGEMM_DEVICE static void multiply(Dtype type, const Step& step, Accumulators& accumulators) {
    const bool is_bf16 = type == Dtype::bf16;
#pragma unroll
    for (int i = 0; i < a_blocks / 2; ++i) {
      const BlockWords &upper = step.a.block[2 * i], &lower = step.a.block[2 * i + 1];
      const std::uint32_t a[4] = {
          upper.template pair<in_pairs>(0), lower.template pair<in_pairs>(0),
          upper.template pair<in_pairs>(1), lower.template pair<in_pairs>(1)};
#pragma unroll
      for (int j = 0; j < b_blocks; ++j) {
        const BlockWords& block = step.b.block[j];
        const std::uint32_t b0 = block.template pair<in_pairs>(0),
                            b1 = block.template pair<in_pairs>(1);
        ptx::mma_m16n8k16_bf16_if(is_bf16, accumulators.block[i][j], a, b0, b1);
        ptx::mma_m16n8k16_f16_if(!is_bf16, accumulators.block[i][j], a, b0, b1);
      }
    }
  }

  const char *a_data_, *b_data_;
  OperandRows<a_blocks> a_;
  OperandRows<b_blocks> b_;
};

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const KernelParams& params) {
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  const Scaling scaling = load_scaling(params);
  const int k = k_blocks_to_run(params, scaling.alpha) > 0 ? static_cast<int>(params.k) : 0;
  const auto units = static_cast<std::uint32_t>(params.tiles_m) *
                     static_cast<std::uint32_t>(params.tiles_n) *
                     static_cast<std::uint32_t>(params.batch);
  const int warp = ptx::tid_x() / 32, lane = ptx::tid_x() % 32;
  Trace trace(params, TraceRole::team, warp, lane == 0);
  // The first warps of all CTAs first, so that few units spread over all multiprocessors.
  std::uint32_t unit = blockIdx.x + warp * gridDim.x;
#pragma unroll 1
  for (; unit < units; unit += gridDim.x * warps) {
    trace(TraceEvent::tile, unit);
    __syncwarp();  // stores of the unit before may have parted the lanes; mma needs them together
    const TileIndex at =
        tile_at(unit, params.tiles_m, params.tiles_n, params.raster_group, params.reciprocals);
    Accumulators<config> accumulators{};
    Product<config>(params, at).run(params, k, accumulators);
    if (unit + gridDim.x * warps >= units && params.next_start != NextStart::when_gone)
      ptx::griddepcontrol_launch_dependents();
    trace(TraceEvent::epilogue);
    const std::int64_t row = std::int64_t{at.m} * config.tile.m + lane / 4;
    const std::int64_t column = std::int64_t{at.n} * config.tile.n + lane % 4 * 2;
    write(Patch<config>{params, row, column, at.batch}, scaling, accumulators);
  }
}

}  // namespace bwgemm::warp
