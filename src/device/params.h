// SPDX-License-Identifier: Apache-2.0
// The one argument of every kernel of a product, by value: KernelParams, which all families have in
// front, or what a family adds to them. families/ fills the parameters, kernels read them. A kernel
// family reads only the fields whose comments name that family.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/element.h"
#include "core/kernel_config.h"
#include "core/next_start.h"
#include "core/scalar.h"
#include "device/fused_params.h"
#include "device/raster.h"

namespace bwgemm {

// The driver's opaque CUtensorMap, so that kernels need no driver header.
struct alignas(64) TensorMap {
  std::uint64_t opaque[16];
};

// How D leaves the kernels of Family::cooperative with Store::tma: by d_map; line by line, by the
// output role; or by the consumers, from their registers, line by line from the staging buffers, or
// in pieces of whole rows.
enum class Stores : std::uint8_t { by_map, by_lines, from_registers, from_staging, in_pieces };

struct alignas(64) KernelParams {
  // All families. What a kernel reads before its first load is in two lines of constant memory, of
  // 64 bytes each: the first to read a line waits for memory.
  std::int32_t tiles_m, tiles_n;  // output tiles of one batch, in tiles of a whole cluster
  std::int32_t raster_group;      // tile rows that are walked together, see raster.h
  std::int32_t k_blocks;  // tile.k-deep steps of the main loop; 0 if A and B are not to be read
  std::int32_t a_batch_step, b_batch_step;  // TMA families; 0 repeats batch 0 of the operand
  std::int32_t batch;
  std::int32_t splits;        // split-K: parts of k, each computed by its own cluster; 1: none
  std::uint32_t whole_tiles;  // TMA families: those whose k is not split, the first ones; or all
  std::int32_t k_per_split;   // multiple of tile.k
  RasterReciprocals reciprocals;
  Reciprocal split_tiles_reciprocal;  // TMA families: of the number of tiles that are not whole
  MmaTypes input_types;               // one of those of the config's kind
  Major a_major, b_major;             // where the config says any
  // The second line.
  Scalar alpha, beta;
  std::int64_t m, n, k;
  // Family::cooperative: the CTAs of a cluster are the splits of a tile, in their order, and use
  // neither partials nor arrivals. No tile is whole then.
  bool reduces_in_cluster;
  Stores stores;
  // Stores::by_map: D is more than L2 could keep for whoever reads it, and should not drive out of
  // L2 what other CTAs are about to load.
  bool d_streams_by;
  NextStart next_start;  // a thread of each CTA says when
  Dtype d_type;          // type16 or f32; of C too, unless fused says otherwise
  Dtype type16;          // of D, C, aux and biases where these are not of f32

  std::int32_t tile_n, stages;  // TMA families, where the config leaves them to the launch

  // Families that can split k.
  float* partials;          // partial sums of each split of each split tile; splits > 1 only
  std::uint32_t* arrivals;  // zero before and after the launch; splits > 1 only

  // The families without maps, and Store::elements. a also with Load::loose_a. c also where the
  // epilogue loads C itself. d also where Family::cooperative stores without d_map: outer is then
  // from line to line.
  StridedMatrix a, b, c;
  Raster raster;          // Family::pair, Family::single
  bool is_pointer_array;  // Family::direct, Family::warp, Family::stationary: data of a to d are
                          // pointers, one for each batch
  StridedMatrix d;

  FusedParams fused;  // all families
};

static_assert(offsetof(KernelParams, alpha) == 64);
// Epilogues read what is fused early, and with it where to store.
static_assert(offsetof(KernelParams, d) / 64 == offsetof(KernelParams, fused) / 64);

// What the TMA families add: maps of three dimensions, the last is the batch; of two where the
// config says so. c_map equals d_map if C is D.
struct MappedParams : KernelParams {
  TensorMap a_map, b_map, c_map, d_map;  // with Load::loose_a no map of A is used
  // Family::cooperative: maps with boxes for the last rows of a K-major operand, where boxes of
  // a_map or b_map would stick out of the operand. Else equal to a_map and b_map.
  TensorMap a_rest_map, b_rest_map;
};

}  // namespace bwgemm
