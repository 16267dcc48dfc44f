// SPDX-License-Identifier: Apache-2.0
// The kernel for products of one row. It computes a few columns of D at a time, each a product of
// two vectors. Operands stream from memory through registers; each thread multiplies what it has
// loaded. The code is short on purpose: for so little data, fetching instructions decides the time.
//
// Roles (256 threads)   all load and multiply; thread c adds what warps and splits have of column c
// Shared memory         partials of each warp; those of the splits of a cluster; their barrier
// Pipelines             splits of a cluster -> the first   received: bytes of st.async
// Timeline, per unit    rounds of 8 to 18 loads a thread -> partials of warps -> barrier -> add;
//                       send to the first split, leave partials in global memory, or write D
#pragma once

#include "device/ptx/mbarrier.h"
#include "device/ptx/operand_memory.h"
#include "device/ptx/sync.h"
#include "device/ring.h"
#include "device/trace.h"
#include "families/dot/output.h"

namespace bwgemm::dot {

// Columns of D over one split of k.
template <KernelConfig config>
struct VectorUnit {
  static constexpr int most_columns = config.tile.n;

  const char *a, *b;             // the first element of the row and of the first column
  std::int64_t a_step, b_pitch;  // bytes from element to element, and from column to column
  int columns;                   // that exist
  int first, end;                // of k
  bool is_wide;                  // all can be loaded 16 bytes at a time

  BWGEMM_DEVICE VectorUnit(const KernelParams& params, const Unit& unit)
      : a(static_cast<const char*>(params.a.data) + 2 * (unit.batch * params.a.batch_stride)),
        b(static_cast<const char*>(params.b.data) +
          2 * (unit.batch * params.b.batch_stride +
               std::int64_t{unit.tile} * most_columns * params.b.outer_stride)),
        a_step(2 * params.a.inner_stride),
        b_pitch(2 * params.b.outer_stride),
        columns(min(most_columns,
                    static_cast<int>(params.n) - static_cast<int>(unit.tile) * most_columns)),
        first(unit.split * params.k_per_split),
        end(unit.split + 1 < params.splits ? first + params.k_per_split
                                           : static_cast<int>(params.k)) {
    const std::uintptr_t pitch = columns > 1 ? static_cast<std::uintptr_t>(b_pitch) : 0;
    is_wide = a_step == 2 &&
              ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) | pitch) &
               15) == 0;
  }
};

template <KernelConfig config>
struct VectorPartials {
  float column[config.tile.n] = {};
};

// Adds the products of eight neighbours.
template <Dtype type>
BWGEMM_DEVICE void add_products(float& sum, const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Pair x = unpack(type, a[i]), y = unpack(type, b[i]);
    sum = fmaf(x.low, y.low, sum);
    sum = fmaf(x.high, y.high, sum);
  }
}

// This thread's part of a unit whose whole eights can be loaded at once; what is left behind the
// last of them is not added.
template <KernelConfig config, Dtype type>
BWGEMM_DEVICE void add_eights(VectorPartials<config>& partials, const VectorUnit<config>& unit,
                              Trace& trace) {
  constexpr int columns = config.tile.n, group = columns == 1 ? 4 : 2;
  constexpr int stride = threads * unit_elements;
  static_assert(stride == config.tile.k);
  const int whole = unit.end / unit_elements * unit_elements;
#pragma unroll 1
  for (int at = unit.first + static_cast<int>(threadIdx.x) * unit_elements; at < whole;
       at += group * stride) {
    trace(TraceEvent::issue, at);
    std::uint32_t a[group][4], b[group][columns][4];
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const bool exists = at + i * stride < whole;
      const std::int64_t offset = 2 * std::int64_t{at + i * stride};
      ptx::ld_global_v4_if(exists, unit.a + offset, a[i]);
#pragma unroll
      for (int c = 0; c < columns; ++c)
        ptx::ld_global_no_allocate_v4_if(exists && c < unit.columns,
                                         unit.b + c * unit.b_pitch + offset, b[i][c]);
    }
    trace(TraceEvent::wait_full, at);
    trace.when_there(a[0][0], TraceEvent::multiply, at);
#pragma unroll
    for (int i = 0; i < group; ++i)
#pragma unroll
      for (int c = 0; c < columns; ++c) add_products<type>(partials.column[c], a[i], b[i][c]);
  }
}

// The same one element at a time, every threads-th from `first` on.
template <KernelConfig config, Dtype type>
BWGEMM_DEVICE void add_elements(VectorPartials<config>& partials, const VectorUnit<config>& unit,
                                int first, Trace& trace) {
  constexpr int columns = config.tile.n, group = columns == 1 ? 8 : 2;
#pragma unroll 1
  for (int at = first + static_cast<int>(threadIdx.x); at < unit.end; at += group * threads) {
    trace(TraceEvent::issue, at);
    std::uint32_t a[group], b[group][columns];
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const std::int64_t element = at + i * threads;
      const bool exists = element < unit.end;
      a[i] = ptx::ld_global_u16_if(exists, unit.a + element * unit.a_step);
#pragma unroll
      for (int c = 0; c < columns; ++c)
        b[i][c] = ptx::ld_global_u16_if(exists && c < unit.columns,
                                        unit.b + c * unit.b_pitch + element * 2);
    }
    trace(TraceEvent::wait_full, at);
    trace.when_there(a[0], TraceEvent::multiply, at);
#pragma unroll
    for (int i = 0; i < group; ++i)
#pragma unroll
      for (int c = 0; c < columns; ++c)
        partials.column[c] =
            fmaf(unpack(type, a[i]).low, unpack(type, b[i][c]).low, partials.column[c]);
  }
}

template <KernelConfig config, Dtype type>
BWGEMM_DEVICE void add_unit(VectorPartials<config>& partials, const VectorUnit<config>& unit,
                            Trace& trace) {
  if (unit.is_wide) add_eights<config, type>(partials, unit, trace);
  const int rest = unit.end % unit_elements;  // of the last split alone
  if (!unit.is_wide || rest != 0)
    add_elements<config, type>(partials, unit, unit.is_wide ? unit.end - rest : unit.first, trace);
}

// Adds the partials of all threads, those of column c in thread c: the lanes of each warp, then the
// warps in their order. `shared`: the partials of each warp, read before the next call's stores.
template <KernelConfig config>
BWGEMM_DEVICE float sum_of_cta(const VectorPartials<config>& partials, std::uint32_t shared) {
  constexpr int columns = config.tile.n, warp_bytes = 4 * columns;
  __syncthreads();  // orders the reads of the last unit's partials before these stores
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    float sum = partials.column[c];
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
    if (threadIdx.x % 32 == 0)
      ptx::st_shared(shared + threadIdx.x / 32 * warp_bytes + 4 * c, __float_as_uint(sum));
  }
  __syncthreads();  // orders the stores before the reads of other threads
  float all = 0;
  if (threadIdx.x < columns)
#pragma unroll
    for (int warp = 0; warp < warps; ++warp)
      all += __uint_as_float(ptx::ld_shared(shared + warp * warp_bytes + 4 * threadIdx.x));
  return all;
}

// The splits of a cluster: all but the first send their partials to it.
template <KernelConfig config>
struct SplitsOfCluster {
  static constexpr int columns = config.tile.n, sum_bytes = 16;  // of which four are a sum

  std::uint32_t shared;
  int count;

  BWGEMM_DEVICE Barrier received() const { return {shared + layout(config).received}; }
  BWGEMM_DEVICE std::uint32_t sum_of(int split) const {  // and of this thread's column
    return shared + layout(config).splits + sum_bytes * (split * columns + threadIdx.x);
  }

  // By all threads: says to peers that this CTA has begun and can receive.
  BWGEMM_DEVICE void begin() const {
    if (threadIdx.x == 0) {
      received().init(1);
      ptx::fence_mbarrier_init();
    }
    __syncwarp();
    ptx::barrier_cluster_arrive_relaxed();
  }
  // By all threads, of which the first have the split's partials: true in those of the first split,
  // which then have the partials of all: runs of them as OutputTile adds them, and so to the same
  // bits.
  BWGEMM_DEVICE bool add(int split, float& sum) const {
    __syncwarp();                 // which the aligned barrier needs
    ptx::barrier_cluster_wait();  // every peer has begun
    if (threadIdx.x >= columns) return false;
    if (split > 0) {
      ptx::st_async_v4_f32(ptx::mapa(sum_of(split), 0), ptx::mapa(received().address, 0), sum, 0, 0,
                           0);
      return false;
    }
    if (threadIdx.x == 0)
      ptx::mbarrier_arrive_expect_tx(received().address, sum_bytes * columns * (count - 1));
    received().wait_cluster(0);
    const int length = run_length(count, log2_runs(count, threads / columns));
    float all = 0, run = sum + 0.0f;  // -0 to 0
    int left = length;
#pragma unroll 1
    for (int i = 1; i < count; ++i) {
      if (--left == 0) {
        all += run;
        run = 0;
        left = length;
      }
      run += __uint_as_float(ptx::ld_shared(sum_of(i)));
    }
    sum = all + run;
    return true;
  }
};

template <KernelConfig config>
BWGEMM_DEVICE void multiply_vectors(const KernelParams& params, std::uint32_t shared) {
  Trace trace(params, TraceRole::team, 0, threadIdx.x == 0);
  const SplitsOfCluster<config> cluster{shared, params.splits};
  const bool in_cluster = params.reduces_in_cluster;
  if (in_cluster) cluster.begin();
  ptx::griddepcontrol_wait();  // what grids before this one wrote before anything is read
  const Scaling scaling = load_scaling(params);
  // Without a product nothing is loaded, and the partials are zero.
  const bool multiplies = k_blocks_to_run(params, scaling.alpha) != 0;
  const int splits = multiplies ? params.splits : 1;
  const std::uint32_t partials_at = shared + layout(config).partials;
  const std::uint32_t units = tiles_of_all_batches(params) * (in_cluster ? params.splits : splits);
  const int column = threadIdx.x;
#pragma unroll 1
  for (std::uint32_t index = blockIdx.x; index < units; index += gridDim.x) {
    trace(TraceEvent::tile, index);
    Unit unit;
    if (in_cluster) {
      unit = unit_at(params, ptx::clusterid_x(), 1);
      unit.split = static_cast<int>(ptx::cluster_ctarank());
    } else {
      unit = unit_at(params, index, splits);
    }
    const VectorUnit<config> vectors(params, unit);
    VectorPartials<config> partials;
    if (multiplies) {
      if (params.input_types.a == Dtype::bf16)
        add_unit<config, Dtype::bf16>(partials, vectors, trace);
      else
        add_unit<config, Dtype::f16>(partials, vectors, trace);
    }
    if (index + gridDim.x >= units && params.next_start != NextStart::when_gone)
      ptx::griddepcontrol_launch_dependents();
    trace(TraceEvent::sum);
    float sum = sum_of_cta<config>(partials, partials_at);
    bool has_all = true;
    if (in_cluster) {
      has_all = cluster.add(unit.split, sum);
    } else if (splits > 1) {
      const OutputTile<config> tile(params, unit, vectors.columns);
      if (column < vectors.columns)
        ptx::st_global(tile.partial(unit.split, column), __float_as_uint(sum));
      if (!tile.is_last()) continue;
      tile.add_splits(partials_at);
      if (column < vectors.columns) sum = __uint_as_float(ptx::ld_shared(partials_at + 4 * column));
    }
    trace(TraceEvent::epilogue);
    if (has_all && column < vectors.columns)
      write_element(params, scaling, unit.batch, 0,
                    std::int64_t{unit.tile} * config.tile.n + column, sum);
  }
}

}  // namespace bwgemm::dot
