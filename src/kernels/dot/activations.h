// SPDX-License-Identifier: Apache-2.0
// Activations: the short operand (A, at most eight rows), staged in shared memory in the order in
// which the weights are read, whatever the layout and alignment of A. Each row holds all positions
// of the first class of k (dot/tiles.h), then those of the next. Positions outside [0, k) are zero.
#pragma once

#include "kernels/dot/tiles.h"
#include "kernels/dot/unit.h"
#include "kernels/ptx/global_memory.h"
#include "kernels/ptx/shared_memory.h"

namespace bwgemm::dot {

template <KernelConfig config>
class Activations {
 public:
  // `longest`: positions of the longest slice of k. Several slabs are staged one after the other
  // where it does not fit.
  BWGEMM_DEVICE Activations(const KernelParams& params, std::uint32_t shared, int longest,
                            int classes)
      : params_(params), shared_(shared), classes_(classes) {
    const int room = activation_positions(config, static_cast<int>(params.m));
    constexpr int step = config.tile.k < 128 ? config.tile.k : 128;
    positions_ = (longest + step - 1) / step * step;
    if (positions_ > room) positions_ = room / config.tile.k * config.tile.k;
  }

  BWGEMM_DEVICE int slab_rounds() const { return (positions_ + config.tile.k - 1) / config.tile.k; }

  // Shared address of the first position of a class in the activation row of mma column `group`.
  // Columns beyond the last row repeat it; nobody reads their sums.
  BWGEMM_DEVICE std::uint32_t row_of(int group, int line_class) const {
    const int row = min(group, static_cast<int>(params_.m) - 1);
    return shared_ + row * pitch() + 2 * line_class * class_positions();
  }

  // Stages the slab whose first position is `first_k` (below zero before the start of a row), by
  // all threads of the team, unless it is there already.
  BWGEMM_DEVICE void provide(std::uint32_t batch, int first_k) {
    if (params_.a.batch_stride == 0) batch = 0;
    if (is_staged_ && batch == staged_batch_ && first_k == staged_k_) return;
    is_staged_ = true;
    staged_batch_ = batch;
    staged_k_ = first_k;
    const char* slab = static_cast<const char*>(params_.a.data) +
                       2 * (batch * params_.a.batch_stride + first_k * params_.a.inner_stride);
    Team<config>::synchronize();  // orders the reads of the last slab before the stores of this one
    if (has_aligned_units(slab, first_k))
      stage<8, true>(slab, first_k);
    else
      stage<2, false>(slab, first_k);
    Team<config>::synchronize();  // orders these stores before the reads of the slab
  }

 private:
  BWGEMM_DEVICE int class_positions() const { return positions_ >> (31 - __clz(classes_)); }
  BWGEMM_DEVICE int pitch() const { return 2 * positions_ + activation_pad(config); }

  // And none that reaches beyond a row: what follows the last may not be the caller's.
  BWGEMM_DEVICE bool has_aligned_units(const char* slab, int first_k) const {
    return params_.a.inner_stride == 1 && classes_ == 1 &&
           (reinterpret_cast<std::uintptr_t>(slab) & 15) == 0 &&
           (static_cast<int>(params_.k) - first_k) % unit_elements == 0 &&
           (params_.m == 1 || params_.a.outer_stride % unit_elements == 0);
  }

  // The units of eight positions that a thread stages, in steps of the team's threads. Neighbouring
  // threads take the same eight steps of neighbouring classes.
  struct Walk {
    int row, unit;
    int row_units, row_step, unit_step;

    BWGEMM_DEVICE Walk(int thread, int row_units)
        : row(thread / row_units),
          unit(thread - row * row_units),
          row_units(row_units),
          row_step(Team<config>::threads / row_units),
          unit_step(Team<config>::threads - row_step * row_units) {}
    BWGEMM_DEVICE void step() {
      row += row_step;
      unit += unit_step;
      if (unit < row_units) return;
      unit -= row_units;
      ++row;
    }
  };

  // First position of the walk's unit in its class, and its k from the slab's first.
  BWGEMM_DEVICE int first_position(const Walk& at) const {
    return at.unit >> (31 - __clz(classes_)) << 3;
  }
  BWGEMM_DEVICE int line_class(const Walk& at) const { return at.unit & (classes_ - 1); }
  BWGEMM_DEVICE int k_of(const Walk& at) const {
    return line_class(at) + first_position(at) * classes_;
  }

  // Registers of a loaded unit: four, or one for each element.
  template <bool in_units>
  static constexpr int words_per_unit = in_units ? 4 : 8;

  template <bool in_units>
  BWGEMM_DEVICE void load(const Walk& at, const char* slab, int first_k,
                          std::uint32_t (&value)[words_per_unit<in_units>]) const {
    const int k = k_of(at), end = static_cast<int>(params_.k) - first_k;
    const bool is_row = at.row < static_cast<int>(params_.m);
    const char* from = slab + 2 * (at.row * params_.a.outer_stride + k * params_.a.inner_stride);
    if constexpr (in_units) {
      ptx::ld_global_v4_if(is_row && k + unit_elements > -first_k && k < end, from, value);
    } else {
#pragma unroll
      for (int i = 0; i < unit_elements; ++i) {
        const int its_k = k + i * classes_;
        value[i] = ptx::ld_global_u16_if(is_row && its_k >= -first_k && its_k < end,
                                         from + 2 * i * classes_ * params_.a.inner_stride);
      }
    }
  }

  template <bool in_units>
  BWGEMM_DEVICE void store(const Walk& at, int first_k,
                           const std::uint32_t (&value)[words_per_unit<in_units>]) const {
    if (at.row >= static_cast<int>(params_.m)) return;
    const int k = first_k + k_of(at);
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = in_units ? value[i] & inside(k + 2 * i, 0, static_cast<int>(params_.k))
                          : value[2 * i] | value[2 * i + 1] << 16;
    ptx::st_shared_v4(
        shared_ + at.row * pitch() + 2 * (line_class(at) * class_positions() + first_position(at)),
        words[0], words[1], words[2], words[3]);
  }

  // `group` units of a thread are in flight at a time.
  template <int group, bool in_units>
  BWGEMM_DEVICE void stage(const char* slab, int first_k) const {
    Walk loads(Team<config>::thread(), positions_ / unit_elements);
    Walk stores = loads;
#pragma unroll 1
    while (stores.row < static_cast<int>(params_.m)) {
      std::uint32_t value[group][words_per_unit<in_units>];
#pragma unroll
      for (int i = 0; i < group; ++i) {
        load<in_units>(loads, slab, first_k, value[i]);
        loads.step();
      }
#pragma unroll
      for (int i = 0; i < group; ++i) {
        store<in_units>(stores, first_k, value[i]);
        stores.step();
      }
    }
  }

  const KernelParams& params_;
  std::uint32_t shared_;
  int classes_, positions_;
  bool is_staged_ = false;
  std::uint32_t staged_batch_ = 0;
  int staged_k_ = 0;
};

}  // namespace bwgemm::dot
