// SPDX-License-Identifier: Apache-2.0
// From the warps' partials in shared memory to D. If k is split, each split's team leaves its
// partials in global memory. The last team to arrive adds the splits of each run in order, then the
// runs in order, so that the result does not depend on which team was last. No team waits for
// another.
#pragma once

#include <bit>

#include "device/fused.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/shared_memory.h"
#include "device/ptx/sync.h"
#include "families/dot/unit.h"

namespace bwgemm::dot {

// The element of C or D at (row, column).
BWGEMM_DEVICE const void* element(const StridedMatrix& matrix, Dtype type, std::uint32_t batch,
                                  int row, std::int64_t column) {
  return static_cast<const char*>(matrix.data) +
         size_bytes(type) * (batch * matrix.batch_stride + row * matrix.outer_stride +
                             column * matrix.inner_stride);
}

// One element of the output.
struct Patch {
  static constexpr int rows = 1, pairs = 1;
  static constexpr bool is_single = true;
  static constexpr bool in_pairs = false;
  static constexpr bool in_steps = false;

  const KernelParams& params;
  int batch, at_row;
  std::int64_t column;

  BWGEMM_DEVICE int row(int) const { return at_row; }
  BWGEMM_DEVICE std::int64_t first(int) const { return column; }
  BWGEMM_DEVICE std::int64_t second(int) const { return column; }
  BWGEMM_DEVICE static constexpr bool has_row(int) { return true; }
  BWGEMM_DEVICE static constexpr bool has_first(int) { return true; }
  BWGEMM_DEVICE static constexpr bool has_second(int) { return false; }
  BWGEMM_DEVICE Dtype type16() const { return params.type16; }
  BWGEMM_DEVICE bool is_exchanged() const { return params.fused.scales_exchanged; }
  BWGEMM_DEVICE const StridedMatrix& c() const { return params.c; }
};

BWGEMM_DEVICE float fused_element(const KernelParams& params, const Scaling& scaling,
                                  const Patch& patch, float product) {
  const Fused<Patch> fused(params, operations_of(params), scaling, patch);
  Pair x[1] = {{product, 0}};
  fused.add_operands(x, [](Pair(&c)[1]) { c[0] = {}; });  // it loads C itself
  if (fused.has(operation::reads_aux))
    fused.differentiate(x);
  else
    fused.apply_activation(x);
  return x[0].low;
}

BWGEMM_DEVICE void write_element(const KernelParams& params, const Scaling& scaling,
                                 std::uint32_t batch, int row, std::int64_t column, float sum) {
  const Dtype type = params.d_type;
  // D is only ever reached through this pointer; StridedMatrix is const for the inputs' sake.
  void* d = const_cast<void*>(element(params.d, type, batch, row, column));
  float value = scaling.combine(sum);
  if (params.fused.has(operation::any)) {
    const Patch patch{params, static_cast<int>(batch), row, column};
    value = fused_element(params, scaling, patch, value);
  } else if (scaling.reads_c()) {
    const void* c = element(params.c, type, batch, row, column);
    value = scaling.combine(sum, type == Dtype::f32 ? __uint_as_float(ptx::ld_global(c))
                                                    : unpack(type, ptx::ld_global_u16(c)).low);
  }
  if (type == Dtype::f32)
    ptx::st_global(d, __float_as_uint(value));
  else
    ptx::st_global_u16(d, pack(type, {value, 0}));
}

// Splits of k are added in runs of as many as this, in their order, and the runs in theirs.
BWGEMM_DEVICE int log2_runs(int splits, int most) {
  return min(31 - __clz(most), 32 - __clz((splits - 1) / 8));
}
BWGEMM_DEVICE int run_length(int splits, int log2_runs) {
  return (splits + (1 << log2_runs) - 1) >> log2_runs;
}

// The outputs of a unit, dealt to the threads: number i is column i % tile.n of row i / tile.n.
template <KernelConfig config>
class OutputTile {
 public:
  static constexpr int block = config.tile.m * config.tile.n;
  static_assert(4 * (block > Team<config>::threads ? block : Team<config>::threads) <=
                Team<config>::warps * layout(config).partials_bytes);

  BWGEMM_DEVICE OutputTile(const KernelParams& params, const Unit& unit, int columns)
      : params_(params), unit_(unit), columns_(columns) {}

  // For each output of this thread: its number, row and column.
  template <typename Visit>
  BWGEMM_DEVICE void for_each(Visit visit) const {
#pragma unroll 1
    for (int i = Team<config>::thread(); i < static_cast<int>(params_.m) * config.tile.n;
         i += Team<config>::threads) {
      const int column = i % config.tile.n;
      if (column < columns_) visit(i, i / config.tile.n, column);
    }
  }

  BWGEMM_DEVICE float* partial(int split, int number) const {
    const std::int64_t blocks = static_cast<std::int64_t>(tiles_of_all_batches(params_)) * split;
    return params_.partials + (blocks + tile()) * block + number;
  }

  // True in every thread of the last team to hand in its partials; the tile's counter is zero
  // again.
  BWGEMM_DEVICE bool is_last() const {
    Team<config>::synchronize();  // every thread's partials before the arrival of thread 0
    bool last = false;
    if (Team<config>::thread() == 0) {
      // Releases this team's partials to, and acquires the others' for, the team that is last.
      const std::uint32_t arrived = ptx::atom_add_acq_rel_gpu(params_.arrivals + tile(), 1);
      last = arrived == static_cast<std::uint32_t>(params_.splits) - 1;
      if (last) ptx::st_global(params_.arrivals + tile(), 0);  // nobody else arrives
    }
    return Team<config>::any(last);  // orders the arrival before the reads of every thread
  }

  // The partials of all splits, to `partials` in shared memory by their numbers. As many threads
  // add as there are runs of eight splits, each a run of one output; then each the runs of one.
  BWGEMM_DEVICE void add_splits(std::uint32_t partials) const {
    constexpr int log2_columns = std::countr_zero(static_cast<unsigned>(config.tile.n));
    const int log2_outputs = log2_columns + 32 - __clz(static_cast<int>(params_.m) - 1);
    const int log2_runs =
        dot::log2_runs(params_.splits, max(1, Team<config>::threads >> log2_outputs));
    const int length = run_length(params_.splits, log2_runs);
#pragma unroll 1
    for (int i = Team<config>::thread(); i < 1 << (log2_outputs + log2_runs);
         i += Team<config>::threads) {
      const int number = i & ((1 << log2_outputs) - 1), first = (i >> log2_outputs) * length;
      const float sum = sum_of_splits(number, first, min(first + length, params_.splits));
      ptx::st_shared(partials + 4 * i, __float_as_uint(sum));
    }
    Team<config>::synchronize();  // orders the stores before the reads of other threads
    for_each([&](int number, int, int) {
      float sum = 0;
#pragma unroll 1
      for (int i = number; i < 1 << (log2_outputs + log2_runs); i += 1 << log2_outputs)
        sum += __uint_as_float(ptx::ld_shared(partials + 4 * i));
      ptx::st_shared(partials + 4 * number, __float_as_uint(sum));
    });
    // The same threads read what they have stored.
  }

 private:
  // Zero where there is no such output.
  BWGEMM_DEVICE float sum_of_splits(int number, int first, int end) const {
    // Loads in flight. Of vectors there are threads for runs that are no longer.
    constexpr int group = is_of_vectors(config) ? 8 : 24;
    if (number % config.tile.n >= columns_ || number / config.tile.n >= params_.m) end = first;
    float sum = 0;
#pragma unroll 1
    for (; first < end; first += group) {
      std::uint32_t value[group];
#pragma unroll
      for (int i = 0; i < group; ++i)
        value[i] = ptx::ld_global_if(first + i < end, partial(first + i, number));
#pragma unroll
      for (int i = 0; i < group; ++i) sum += __uint_as_float(value[i]);
    }
    return sum;
  }

  BWGEMM_DEVICE std::uint32_t tile() const {
    return unit_.batch * static_cast<std::uint32_t>(params_.tiles_n) + unit_.tile;
  }

  const KernelParams& params_;
  const Unit& unit_;
  int columns_;
};

}  // namespace bwgemm::dot
