// SPDX-License-Identifier: Apache-2.0
#include "gpu/row_classes.h"

#include <cstdint>
#include <tuple>

#include "families/facts.h"
#include "families/variants.h"

namespace bwgemm::test {
namespace {

// What the sizes of an sm90 tile choose between, see families/sm90/layout.h.
auto code_of_sizes(const KernelConfig& row) {
  const sm90::Warpgroups warpgroups = sm90::warpgroups_of(row);
  const sm90::StagedBoxes boxes = sm90::staged_boxes(row);
  return std::tuple(warpgroups.rows, warpgroups.consumers == 1,
                    row.swaps_ab && warpgroups.consumers == 3, warpgroups.registers.are_moved(),
                    sm90::layout(row).staging_depth > 1, boxes.line_bytes, boxes.patch_columns,
                    sm90::parts_of(row).stores_from_registers,
                    sm90::parts_of(row).stores_from_staging, sm90::parts_of(row).stores_pieces(),
                    boxes.overlap, moves_lines(row) ? row.tile.n : 0);
}

}  // namespace

bool moves_lines(const KernelConfig& row) {
  return has_residues(row) || (uses_tensor_memory(row) && sm100::has_loaders(row));
}

bool same_class(const KernelConfig& row, const KernelConfig& other) {
  KernelConfig alike = row;
  // Blocks of rows are code where the tile is in tensor memory.
  if (uses_tensor_memory(row) && row.tile.m != other.tile.m) return false;
  alike.tile = other.tile;
  alike.stages = other.stages;
  alike.ctas_per_sm = other.ctas_per_sm;
  if (row.family == Family::dot && (dot::teams_of(row).warps != dot::teams_of(other).warps ||
                                    dot::is_of_vectors(row) != dot::is_of_vectors(other)))
    return false;
  // A tile or a ring that the launch chooses is other code.
  return alike == other && (row.tile.n == 0) == (other.tile.n == 0) &&
         (row.stages == 0) == (other.stages == 0) &&
         (row.family != Family::cooperative || code_of_sizes(row) == code_of_sizes(other));
}

bool is_representative(const KernelConfig& row) {
  const auto work = [](const KernelConfig& of) {
    return std::int64_t{of.tile.m} * of.tile.n * of.cluster.size() * (of.stages + 4);
  };
  const KernelConfig* least = &row;
  for (const KernelConfig& other : kernel_variants)
    if (same_class(row, other) && work(other) < work(*least)) least = &other;
  for (const KernelConfig& other : kernel_variants)  // the first of equals
    if (same_class(row, other) && work(other) == work(*least)) return other == row;
  return false;
}

}  // namespace bwgemm::test
