// SPDX-License-Identifier: Apache-2.0
// Filling what families have in common of a product's parameters: matrices that threads load and
// store, the fused epilogue, and the tensor maps of operands and of D.
#pragma once

#include <cstddef>

#include "program/part.h"
#include "program/tensor_map.h"
#include "rules/family.h"

namespace bwgemm {

// A matrix as kernels address it that load or store it by elements: inner is k for A and B, n for
// the others.
StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous, std::int64_t batch);

// A, B, C and D of kernels whose threads load or store them.
void fill_strided(const Filling& filling);

// params.fused, and params.c where the epilogue loads C itself. `has_rest`: threads store some
// columns of tiles that are no whole boxes of output, and load those of C, in a fused epilogue all
// of C; fill_strided() has then filled params.c. Parameters stay zero where nothing is fused.
void fill_fused(const Filling& filling, bool has_rest = false);

// The activation of the epilogue.
void fill_curve(const Epilogue& epilogue, FusedParams& fused);

// Both of the above, for families without tensor maps.
void fill_unmapped(const Filling& filling);

// Which columns of the product a gate pairs.
GateColumns gate_columns(const Problem& problem);
// From a column of x to its y, in columns.
std::int64_t columns_to_y(const Problem& problem);
inline constexpr std::int32_t gate_group = 8;  // columns of x, and of y, that lie together

// Whether L2 fetches more of an operand than boxes ask for. `readers`: the tiles that read each
// element. What streams by once, and what would be fetched for two lines at a time, comes faster
// without (bench/log/2026-11-22.md).
Promotion promotion_for(const Matrix& matrix, std::int64_t readers);

// An operand of the product, of `rows` along m or n.
TensorMapKey operand_key(const Filling& filling, const Matrix& matrix, Major major,
                         std::int64_t rows, const MapBox& box, Promotion promotion);

inline constexpr std::size_t along_rows = 1;  // dimension of the box of a K-major operand

// The map of an operand, and again with a box for the `rest` rows that are left behind its last
// box; without such rows both are the same.
void link_maps(const TensorMapKey& key, std::uint32_t rest, Argument argument, TensorMap& map,
               TensorMap& rest_map, Linker& linker);

// Extent and box of C and D, contiguous direction first.
struct OutputMap {
  MapExtent extent;
  MapBox box;
};
void link_output_maps(const Filling& filling, const OutputMap& output);

}  // namespace bwgemm
