// SPDX-License-Identifier: Apache-2.0
// TileExit: how the sums of a tile leave a consumer warpgroup as D. A kernel that stores by
// elements has one way, its writer. The others have three, of which choose_exit() names the one
// that a launch takes. A plain product goes through the register epilogue, which then has nothing
// to do.
#pragma once

#include <type_traits>

#include "families/sm90/cta.h"
#include "families/sm90/patch.h"
#include "families/sm90/register_epilogue.h"
#include "families/sm90/tile_biases.h"

namespace bwgemm::sm90 {

enum class Exit : std::uint8_t {
  boxes,        // register epilogue, staging buffers, output role: by TMA or line by line
  fused_boxes,  // staging buffers and output role; the epilogue reads matrices part by part
  consumers,    // register epilogue, then stores by the consumers
};

// `operations`: those of the launch.
template <KernelConfig config>
BWGEMM_DEVICE Exit choose_exit(bool has_output_role, std::uint32_t operations,
                               const Scaling& scaling) {
  // Without matrices the register epilogue serves everything.
  if (parts_of(config).takes_matrices && !RegisterEpilogue<config>::serves(operations, scaling))
    return Exit::fused_boxes;
  return has_output_role ? Exit::boxes : Exit::consumers;
}

// Parts that only some kernels have: their images include them (image_headers() in facts.h).
template <KernelConfig config>
class RegisterStores;  // Parts::stores_from_registers: register_stores.h
template <KernelConfig config>
class StagingStores;  // Parts::stores_from_staging: staging_stores.h
template <KernelConfig config>
class PieceStores;  // Parts::stores_pieces(): piece_stores.h
struct NoStores {};

// `Writer`: FusedBoxes, a BoxWriter, or of kernels that store by elements shifted/scatter.h.
template <KernelConfig config, class Writer>
class TileExit {
 public:
  using Params = typename Writer::Params;

  BWGEMM_DEVICE TileExit(const Params& params, const Cta<config>& cta, int warpgroup,
                         const Scaling& scaling)
      : params_(params),
        cta_(cta),
        warpgroup_(warpgroup),
        scaling_(scaling),
        writer_(params, cta, warpgroup, scaling),
        biases_(params, cta, warpgroup) {}

  // What a consumer has loaded or computed of one tile before the epilogue. A caller makes one for
  // each tile: what lives from tile to tile would take main loops out of uniform registers.
  struct Prepared {
    std::conditional_t<parts_of(config).stores_from_registers, RegisterStores<config>, NoStores>
        register_stores;
    bool has_biases = false;
    typename TileBiases<config>::Loaded biases;
  };

  // For the tile at which `tiles` stands.
  BWGEMM_DEVICE Prepared prepare(const Tiles& tiles) const {
    Prepared prepared;
    if constexpr (parts_of(config).stores_from_registers)
      prepared.register_stores = RegisterStores<config>(params_, cta_, tiles, warpgroup_);
    return prepared;
  }
  // Begins to load the vectors that the epilogue needs.
  BWGEMM_DEVICE void load_vectors(const Tiles& tiles, Prepared& prepared) const {
    const std::uint32_t operations = operations_of(params_);
    if (config.store == Store::elements || (operations & operation::reads_vectors) == 0) return;
    const Origin at = origin(tiles);
    prepared.has_biases =
        !parts_of(config).loads_biases_late && (operations & operation::biases) != 0;
    if (prepared.has_biases) biases_.load(prepared.biases, at.row, at.column, at.batch);
    if (parts_of(config).loads_biases_late || (operations & operation::scales) != 0)
      prefetch_vectors<config>(params_, at.row, at.column, at.batch);
  }
  // Run by the whole warpgroup, behind load_vectors().
  BWGEMM_DEVICE void store_biases(const Prepared& prepared) const {
    if (prepared.has_biases) biases_.store(prepared.biases);
  }

  // `has_sums`: false where k is split and another CTA adds the splits up, which the output role is
  // told.
  BWGEMM_DEVICE void leave(Accumulators<config>& sums, const Tiles& tiles, const Prepared& prepared,
                           bool is_split, bool has_sums) {
    if constexpr (config.store == Store::elements) {
      if (has_sums) writer_.write_tile(sums, cta_, tiles.at(params_));
    } else {
      const bool has_output_role = cta_.has_output_role(params_);
      if (is_split && has_output_role) writer_.announce(has_sums);
      if (!has_sums) return;
      const std::uint32_t operations = operations_of(params_);
      const Exit exit = choose_exit<config>(has_output_role, operations, scaling_);
      if constexpr (parts_of(config).takes_matrices)
        if (exit == Exit::fused_boxes) {
          const Origin at = origin(tiles);
          writer_.write_fused(sums, at.row, at.column, at.batch);
          return;
        }
      // What is left to do. Where no C is read, the compiler knows.
      const Scaling left{apply_in_registers(operations, sums, tiles),
                         parts_of(config).takes_matrices ? scaling_.beta : 0};
      if (exit == Exit::boxes)
        writer_.write_tile(sums, left, (operations & operation::gate) != 0);
      else
        store(sums, left, tiles, prepared);
    }
  }

 private:
  // Where the warpgroup's part of a tile begins in the product.
  struct Origin {
    int row, column, batch;
  };
  BWGEMM_DEVICE Origin origin(const Tiles& tiles) const {
    const TileIndex tile = tiles.at(params_);
    return {cta_.row(tile) + cta_.first_row(warpgroup_), cta_.column(tile), tile.batch};
  }

  // Exit::consumers.
  BWGEMM_DEVICE void store(const Accumulators<config>& sums, const Scaling& left,
                           const Tiles& tiles, const Prepared& prepared) const {
    constexpr Parts parts = parts_of(config);
    if constexpr (parts.stores_from_registers) {
      prepared.register_stores.write_tile(params_, sums, left);
    } else if constexpr (parts.can_store_in_consumers()) {
      const Origin at = origin(tiles);
      if constexpr (parts.stores_pieces())
        if (!parts.stores_from_staging || params_.stores == Stores::in_pieces)
          return PieceStores<config>(params_, cta_, warpgroup_)
              .write_tile(sums, left, at.row, at.batch);
      if constexpr (parts.stores_from_staging)
        StagingStores<config>(params_, cta_, warpgroup_)
            .write_tile(sums, left, at.row, at.column, at.batch);
    }
  }

  // Returns the factor of the sums that is left.
  BWGEMM_DEVICE float apply_in_registers(std::uint32_t operations, Accumulators<config>& sums,
                                         const Tiles& tiles) const {
    if ((operations & operation::any) == 0) return scaling_.alpha;
    const bool fetches_biases =
        parts_of(config).loads_biases_late && (operations & operation::biases) != 0;
    const bool asks_where = fetches_biases || (operations & operation::scales) != 0;
    const Origin at = asks_where ? origin(tiles) : Origin{};
    if (fetches_biases) biases_.fetch(at.row, at.column, at.batch);
    RegisterEpilogue<config>(params_, operations, scaling_.alpha)
        .apply(sums, at.row, at.column, at.batch, biases_);
    return 1;
  }

  const Params& params_;
  const Cta<config>& cta_;
  int warpgroup_;
  Scaling scaling_;
  Writer writer_;
  TileBiases<config> biases_;
};

}  // namespace bwgemm::sm90
