// SPDX-License-Identifier: Apache-2.0
// v6: pairs that stay and walk over the tiles, with two accumulators: four warps of their own store
// one tile while the next is multiplied into the other half of tensor memory.
#pragma once

#include "ladder/v5.cuh"

namespace bwgemm::ladder::v6 {

inline constexpr Shape shape = shape_of("v6");
inline constexpr int first_epilogue_warp = 2;

// A fixed stride over all tiles.
template <Shape shape>
class Walk {
 public:
  BWGEMM_DEVICE Walk(const Params& params, const Cta<shape>&)
      : tile_(blockIdx.x / shape.ctas),
        step_(gridDim.x / shape.ctas),
        tiles_(params.tiles_m * params.tiles_n) {}

  BWGEMM_DEVICE bool valid() const { return tile_ < tiles_; }
  BWGEMM_DEVICE int tile() const { return tile_; }
  BWGEMM_DEVICE void advance() { tile_ += step_; }

 private:
  int tile_, step_, tiles_;
};

template <Shape shape>
BWGEMM_DEVICE std::uint32_t column_of(const Cursor& accumulator) {
  return accumulator.stage * shape.tile_n;
}

template <Shape shape, class Technique, class Walk>
BWGEMM_DEVICE void run_producer(const Params& params, const Cta<shape>& cta) {
  Cursor at;
  for (Walk walk(params, cta); walk.valid(); walk.advance())
    v4::load_tile<shape, Technique>(params, cta, TilePosition::of(params, walk.tile()), at);
  v4::drain(cta, at);
}

template <Shape shape, class Technique, class Walk>
BWGEMM_DEVICE void run_mma(const Params& params, const Cta<shape>& cta,
                           std::uint32_t tensor_memory) {
  const Ring ring = cta.accumulators();
  Cursor at, accumulator;
  for (Walk walk(params, cta); walk.valid(); walk.advance()) {
    ring.wait_empty(accumulator);  // the epilogues' loads before the accumulator is overwritten
    ptx::tcgen05_fence_after_thread_sync();
    v4::multiply_tile<shape, Technique>(params, cta, tensor_memory + column_of<shape>(accumulator),
                                        at);
    Technique::commit(ring.full(accumulator).address);
    accumulator.advance(shape.accumulators);
  }
  // The last arrivals of both CTAs' epilogues on this CTA's barriers before its exit.
  for (int i = 0; i < shape.accumulators; ++i) {
    ring.wait_empty(accumulator);
    accumulator.advance(shape.accumulators);
  }
}

template <Shape shape, class Technique, class Walk>
BWGEMM_DEVICE void run_epilogue(const Params& params, const Cta<shape>& cta,
                                std::uint32_t tensor_memory) {
  const Ring ring = cta.accumulators();
  Cursor accumulator;
  for (Walk walk(params, cta); walk.valid(); walk.advance()) {
    ring.wait_full(accumulator);  // the multiplications' writes before the loads
    ptx::tcgen05_fence_after_thread_sync();
    store_tile<shape>(params, cta, TilePosition::of(params, walk.tile()),
                      tensor_memory + column_of<shape>(accumulator));
    // All loads of the accumulator by the warp before its next multiplications.
    ptx::tcgen05_fence_before_thread_sync();
    __syncwarp();
    if (ptx::laneid() == 0)
      ptx::mbarrier_arrive_relaxed_cluster(ptx::mapa(ring.empty(accumulator).address, v5::leader));
    accumulator.advance(shape.accumulators);
  }
}

template <Shape shape, class Technique, class Walk>
BWGEMM_DEVICE void run_role(const Params& params, const Cta<shape>& cta,
                            std::uint32_t tensor_memory) {
  if (cta.warp == 0) {
    if (ptx::elect_sync()) run_producer<shape, Technique, Walk>(params, cta);
  } else if (cta.warp == 1) {
    if (cta.rank == v5::leader && ptx::elect_sync())
      run_mma<shape, Technique, Walk>(params, cta, tensor_memory);
  } else if (cta.warp < first_epilogue_warp + epilogue_warps) {
    run_epilogue<shape, Technique, Walk>(params, cta, tensor_memory);
  }
}

template <Shape shape, class Technique>
BWGEMM_DEVICE void gemm(const Params& params) {
  const Cta<shape> cta;
  const std::uint32_t tensor_memory = set_up<shape, Technique>(cta);
  run_role<shape, Technique, Walk<shape>>(params, cta, tensor_memory);
  tear_down<shape, Technique>(cta, tensor_memory);
}

}  // namespace bwgemm::ladder::v6
