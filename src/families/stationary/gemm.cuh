// SPDX-License-Identifier: Apache-2.0
// The kernel of few columns, on both architectures. It is made for many rows and a short k, which
// memory bounds: B stays in shared memory while rows of A stream by it, from global memory to
// registers, mma.sync, and to global memory. Where k is longer, slabs of B take turns. B and D lie
// anywhere, and with Load::threads so does A. Persistent over units of (batch, tile).
//
// Roles (128 threads)   four warps; each takes 16 rows of a tile
// Shared memory         a slab of B: the columns of a tile, slab_depth of k
// Timeline   per unit   load the first steps of A
//            per slab   another one than before: barrier, B to shared memory, barrier;
//                       k: multiply step i, load step i + steps_ahead
//            per unit   C, combine -> D
#pragma once

#include "device/pointers.h"
#include "device/ptx/mma.h"
#include "device/raster.h"
#include "device/trace.h"
#include "families/stationary/operands.h"
#include "families/stationary/output.h"

namespace bwgemm::stationary {

template <KernelConfig config>
class Products {
  static constexpr int steps_ahead = RowStream<config>::steps_ahead;
  static_assert(slab_depth % (steps_ahead * step_depth) == 0);

 public:
  BWGEMM_DEVICE Products(const KernelParams& params, int k, std::uint32_t shared)
      : params_(params), k_(k), shared_(shared) {}

  // All units of the CTA.
  BWGEMM_DEVICE void run(Trace& trace) {
    const auto units = static_cast<std::uint32_t>(params_.tiles_m) *
                       static_cast<std::uint32_t>(params_.tiles_n) *
                       static_cast<std::uint32_t>(params_.batch);
#pragma unroll 1
    for (std::uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
      trace(TraceEvent::tile, unit);
      begin(tile_of(unit));
      Accumulators<config> accumulators{};
#pragma unroll 1
      for (int k = 0; k < k_; k += slab_depth) {
        hold(tile_of(unit), k, trace);
        multiply(k / step_depth, accumulators);
        if (holds_all_of_b(config)) break;
      }
      if (unit + gridDim.x >= units && params_.next_start != NextStart::when_gone)
        ptx::griddepcontrol_launch_dependents();
      trace(TraceEvent::epilogue);
      const TileIndex at = tile_of(unit);
      write<config>(params_, at, row_of(at), load_scaling(params_), accumulators);
    }
  }

 private:
  BWGEMM_DEVICE TileIndex tile_of(std::uint32_t unit) const {
    if constexpr (holds_all_of_b(config)) return {static_cast<std::int32_t>(unit), 0, 0};
    return tile_at(unit, params_.tiles_m, params_.tiles_n, params_.raster_group,
                   params_.reciprocals);
  }
  BWGEMM_DEVICE static int row_of(const TileIndex& at) {
    return at.m * config.tile.m + ptx::tid_x() / 32 * warp_rows;
  }
  BWGEMM_DEVICE const char* batch_of(const StridedMatrix& matrix, int batch) const {
    if constexpr (holds_all_of_b(config)) return static_cast<const char*>(matrix.data);
    return direct::data_of_batch(params_, matrix.data, batch) + 2 * (batch * matrix.batch_stride);
  }

  // Starts the first loads of a unit.
  BWGEMM_DEVICE void begin(const TileIndex& at) {
    rows_.begin(params_, batch_of(params_.a, at.batch), row_of(at), k_);
  }

  // Brings the slab of B that begins at `k` to shared memory, unless it is there.
  BWGEMM_DEVICE void hold(const TileIndex& at, int k, Trace& trace) {
    HeldSlab wanted{0, 0};
    if constexpr (!holds_all_of_b(config)) wanted = {at.batch * params_.tiles_n + at.n, k};
    if (held_.column_tile == wanted.column_tile && held_.k == wanted.k) return;
    held_ = wanted;
    trace(TraceEvent::stage, k);
    const StridedMatrix& b = params_.b;
    const int column = at.n * config.tile.n;
    __syncthreads();  // orders reads of the slab before
    ResidentB<config>::store(
        {batch_of(b, at.batch) + 2 * (column * b.outer_stride + k * b.inner_stride),
         2 * b.outer_stride, 2 * b.inner_stride,
         static_cast<int>(min(params_.n - column, std::int64_t{config.tile.n})),
         min(k_ - k, slab_depth)},
        shared_);
    __syncthreads();
  }

  // Step after step of a slab, from step `begin` of k on.
  BWGEMM_DEVICE void multiply(int begin, Accumulators<config>& accumulators) {
    const int loads = RowStream<config>::loads(k_);
    const int end = min(begin + slab_depth / step_depth, (k_ + step_depth - 1) / step_depth);
    std::uint32_t b = ResidentB<config>::lane_place(shared_);
#pragma unroll 1
    for (int first = begin; first < end; first += steps_ahead)
#pragma unroll
      for (int i = 0; i < steps_ahead; ++i, b += 2 * step_depth) {
        const int step = first + i;
        if (i > 0 && step >= end) break;
        const int left = k_ - step * step_depth - unit_of_lane() * unit_elements;
        __syncwarp();  // what came before may have parted the lanes
        UnitWords a[2];
        rows_.get_units(i, left, a);
        multiply_step(a, b, accumulators);
        if (step + steps_ahead < loads) rows_.load(params_, i);
      }
  }

  BWGEMM_DEVICE void multiply_step(const UnitWords (&a)[2], std::uint32_t b_at,
                                   Accumulators<config>& accumulators) const {
    const bool is_bf16 = params_.input_types.a == Dtype::bf16;
    __syncwarp();  // mma needs all lanes together
#pragma unroll
    for (int j = 0; j < accumulators.blocks; ++j) {
      UnitWords b;
      ptx::ld_shared_v4(b_at + ResidentB<config>::offset(j), b.word);
#pragma unroll
      for (int half = 0; half < 4; half += 2) {
        const std::uint32_t fragment[4] = {a[0].word[half], a[1].word[half], a[0].word[half + 1],
                                           a[1].word[half + 1]};
        float(&sums)[4] = accumulators.block[j];
        ptx::mma_m16n8k16_bf16_if(is_bf16, sums, fragment, b.word[half], b.word[half + 1]);
        ptx::mma_m16n8k16_f16_if(!is_bf16, sums, fragment, b.word[half], b.word[half + 1]);
      }
    }
  }

  struct HeldSlab {
    int column_tile;  // counted through all batches
    int k;
  };

  const KernelParams& params_;
  int k_;
  std::uint32_t shared_;
  HeldSlab held_{-1, 0};
  RowStream<config> rows_;
};

template <KernelConfig config>
BWGEMM_DEVICE void gemm(const KernelParams& params) {
  alignas(16) __shared__ std::uint8_t memory[ResidentB<config>::bytes];
  const std::uint32_t shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  const int k =
      k_blocks_to_run(params, load_scaling(params).alpha) > 0 ? static_cast<int>(params.k) : 0;
  Trace trace(params, TraceRole::team, ptx::tid_x() / 32, ptx::tid_x() % 32 == 0);
  Products<config>(params, k, shared).run(trace);
}

}  // namespace bwgemm::stationary
