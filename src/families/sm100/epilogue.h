// SPDX-License-Identifier: Apache-2.0
// The epilogue role: four warps that turn accumulators into output values, 32 rows each. The config
// says which writer stores them: RowWriter, ColumnWriter or ScatterWriter, and FusedWriter for more
// than alpha and beta.
#pragma once

#include "device/trace.h"
#include "families/sm100/boxes.h"
#include "families/sm100/fused.h"

namespace bwgemm::sm100 {

// Writers that only some kernels have: their images include them.
template <KernelConfig config, Dtype type>
class ColumnWriter;  // swaps_ab: columns.h
template <KernelConfig config, Dtype type>
class ScatterWriter;  // Store::elements: scatter.h

template <class Writer, KernelConfig config>
BWGEMM_DEVICE void run_epilogue(const KernelParams& params, const Cta<config>& cta,
                                std::uint32_t tensor_memory, const Scaling& scaling, int k_blocks) {
  Writer writer(params, cta, scaling);
  AccumulatorReader<config> accumulators(params, cta, tensor_memory, k_blocks);
  Trace trace(params, TraceRole::epilogue, 0, AccumulatorReader<config>::row() == 0);
  for (Walk<config, true> walk(params, cta); walk.valid(); walk.advance()) {
    trace(TraceEvent::tile, walk.number(params));
    const bool has_sums = accumulators.begin(params, walk, trace);
    if (walk.is_split(params)) writer.announce(has_sums);
    if (has_sums) writer.write_tile(walk.at(params), accumulators);
  }
}

template <KernelConfig config, Dtype type>
BWGEMM_DEVICE void run_epilogue_of(const KernelParams& params, const Cta<config>& cta,
                                   std::uint32_t tensor_memory, const Scaling& scaling,
                                   int k_blocks) {
  if constexpr (config.store == Store::elements) {
    run_epilogue<ScatterWriter<config, type>>(params, cta, tensor_memory, scaling, k_blocks);
  } else if constexpr (config.swaps_ab) {
    run_epilogue<ColumnWriter<config, type>>(params, cta, tensor_memory, scaling, k_blocks);
  } else {
    // The row of a staging buffer is one swizzle row, or half of one where tile_n has no whole
    // ones.
    constexpr int full_row = swizzle_row_bytes / size_bytes(type), narrowest = 32;
    if (full_row == narrowest || cta.tile_n % full_row == 0)
      run_epilogue<RowWriter<config, type, full_row>>(params, cta, tensor_memory, scaling,
                                                      k_blocks);
    else
      run_epilogue<RowWriter<config, type, narrowest>>(params, cta, tensor_memory, scaling,
                                                       k_blocks);
  }
}

template <KernelConfig config>
BWGEMM_DEVICE void run_epilogue(const KernelParams& params, const Cta<config>& cta,
                                std::uint32_t tensor_memory, const Scaling& scaling, int k_blocks) {
  if (params.fused.has(operation::any))
    return run_epilogue<FusedWriter<config>>(params, cta, tensor_memory, scaling, k_blocks);
  switch (params.d_type) {
    case Dtype::f32:
      return run_epilogue_of<config, Dtype::f32>(params, cta, tensor_memory, scaling, k_blocks);
    case Dtype::bf16:
      return run_epilogue_of<config, Dtype::bf16>(params, cta, tensor_memory, scaling, k_blocks);
    default:
      return run_epilogue_of<config, Dtype::f16>(params, cta, tensor_memory, scaling, k_blocks);
  }
}

}  // namespace bwgemm::sm100
