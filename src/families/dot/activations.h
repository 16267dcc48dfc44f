// SPDX-License-Identifier: Apache-2.0
// Activations: the short operand (A, at most eight rows), staged in shared memory in the order in
// which the weights are read, whatever the layout and alignment of A. Each row holds all positions
// of the first class of k (dot/tiles.h), then those of the next. Positions outside [0, k) are zero.
#pragma once

#include "device/ptx/global_memory.h"
#include "device/ptx/shared_memory.h"
#include "families/dot/tiles.h"
#include "families/dot/unit.h"

namespace bwgemm::dot {

template <KernelConfig config>
class Activations {
 public:
  // `longest`: positions of the longest split of k. Several slabs are staged one after the other
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
  // Columns beyond the last row repeat it; nobody reads their partials.
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
  BWGEMM_DEVICE int pitch() const { return 2 * positions_ + layout(config).activation_pad; }

  // And none that reaches beyond a row: what follows the last may not be the caller's.
  BWGEMM_DEVICE bool has_aligned_units(const char* slab, int first_k) const {
    return params_.a.inner_stride == 1 && classes_ == 1 &&
           (reinterpret_cast<std::uintptr_t>(slab) & 15) == 0 &&
           (static_cast<int>(params_.k) - first_k) % unit_elements == 0 &&
           (params_.m == 1 || params_.a.outer_stride % unit_elements == 0);
  }

  // The units of eight positions that a thread stages, in steps of the team's threads. Neighbouring
  // threads take the same eight steps of neighbouring classes; or, where A lies along m, those of
  // neighbouring rows.
  struct Walk {
    int fast, slow;  // unit and row, or row and unit
    int extent, fast_step, slow_step;

    BWGEMM_DEVICE Walk(int thread, int extent)
        : fast(thread % extent),
          slow(thread / extent),
          extent(extent),
          fast_step(Team<config>::threads % extent),
          slow_step(Team<config>::threads / extent) {}
    BWGEMM_DEVICE void step() {
      slow += slow_step;
      fast += fast_step;
      if (fast < extent) return;
      fast -= extent;
      ++slow;
    }
  };

  // Whether neighbours in memory are the rows of one k, whose loads are then neighbours too.
  template <bool in_units>
  BWGEMM_DEVICE bool is_along_m() const {
    return !in_units && params_.a.outer_stride == 1 && params_.a.inner_stride != 1;
  }
  // The row and the unit of a step of the walk, and whether there are such.
  struct Place {
    int row, unit;
    bool exists;
  };
  template <bool in_units>
  BWGEMM_DEVICE Place place(const Walk& at) const {
    const int rows = static_cast<int>(params_.m);
    if (is_along_m<in_units>()) return {at.fast, at.slow, at.slow < row_units()};
    return {at.slow, at.fast, at.slow < rows};
  }
  BWGEMM_DEVICE int row_units() const { return positions_ / unit_elements; }

  // First position of a unit in its class, and its k from the slab's first.
  BWGEMM_DEVICE int first_position(int unit) const { return unit >> (31 - __clz(classes_)) << 3; }
  BWGEMM_DEVICE int line_class(int unit) const { return unit & (classes_ - 1); }
  BWGEMM_DEVICE int k_of(int unit) const {
    return line_class(unit) + first_position(unit) * classes_;
  }

  // Registers of a loaded unit: four, or one for each element.
  template <bool in_units>
  static constexpr int words_per_unit = in_units ? 4 : 8;

  template <bool in_units>
  BWGEMM_DEVICE void load(const Walk& at, const char* slab, int first_k,
                          std::uint32_t (&value)[words_per_unit<in_units>]) const {
    const Place to = place<in_units>(at);
    const int k = k_of(to.unit), end = static_cast<int>(params_.k) - first_k;
    const char* from = slab + 2 * (to.row * params_.a.outer_stride + k * params_.a.inner_stride);
    if constexpr (in_units) {
      ptx::ld_global_v4_if(to.exists && k + unit_elements > -first_k && k < end, from, value);
    } else {
#pragma unroll
      for (int i = 0; i < unit_elements; ++i) {
        const int its_k = k + i * classes_;
        value[i] = ptx::ld_global_u16_if(to.exists && its_k >= -first_k && its_k < end,
                                         from + 2 * i * classes_ * params_.a.inner_stride);
      }
    }
  }

  template <bool in_units>
  BWGEMM_DEVICE void store(const Walk& at, int first_k,
                           const std::uint32_t (&value)[words_per_unit<in_units>]) const {
    const Place to = place<in_units>(at);
    if (!to.exists) return;
    const int k = first_k + k_of(to.unit);
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = in_units ? value[i] & inside(k + 2 * i, 0, static_cast<int>(params_.k))
                          : value[2 * i] | value[2 * i + 1] << 16;
    const int position = line_class(to.unit) * class_positions() + first_position(to.unit);
    ptx::st_shared_v4(shared_ + to.row * pitch() + 2 * position, words[0], words[1], words[2],
                      words[3]);
  }

  // `group` units of a thread are in flight at a time.
  template <int group, bool in_units>
  BWGEMM_DEVICE void stage(const char* slab, int first_k) const {
    const int rows = static_cast<int>(params_.m);
    const bool along_m = is_along_m<in_units>();
    Walk loads(Team<config>::thread(), along_m ? rows : row_units());
    Walk stores = loads;
#pragma unroll 1
    while (stores.slow < (along_m ? row_units() : rows)) {
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
