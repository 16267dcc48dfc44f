// SPDX-License-Identifier: Apache-2.0
// Residue classes: how TMA reads lines of 2-byte elements that start anywhere. Lines whose numbers
// are equal mod 8 lie a multiple of 16 bytes apart, so each such class has a tensor map of its own.
// TMA takes no address that is not a multiple of 16 bytes: where a line's first unit, its head, is
// not whole, TMA loads from the second one on. Heads are as long in every line of a class; the
// kernel reads them itself and moves lines to where they belong (families/sm90/shifted).
#pragma once

#include <cstdint>

#include "device/params.h"

namespace bwgemm {

inline constexpr int residue_classes = 8;
inline constexpr int residue_boxes = 4;  // of a K-major tile whose lines lie in their order
inline constexpr int unit_bytes = 16;
inline constexpr int unit_elements = 8;
inline constexpr int k_block = 64;  // of a ring stage of 2-byte elements

// Which of a tile's `lines` is at a position, where lines are loaded class by class.
constexpr int line_at(int position, int lines) {
  const int per_class = lines / residue_classes;
  return position % per_class * residue_classes + position / per_class;
}

// One operand. Lines are rows of m or n (K-major) or of k (MN-major).
struct ResidueOperand {
  TensorMap maps[residue_classes];
  std::uint8_t heads[residue_classes];  // elements
  bool by_class;                        // false: lines lie in their order, maps[0] loads them
  bool shifted;                         // a head is not empty
  std::int32_t batch_lines;  // between the lines of batches that are one matrix; 0: a dimension

  // Where in a class's map what TMA loads begins.
  constexpr int first_loaded(int residue_class) const {
    return heads[residue_class] != 0 ? unit_elements : 0;
  }
};

// The argument of kernels with Load::tma_shifted. Maps of MappedParams are not used.
struct ResidueParams : MappedParams {
  alignas(64) ResidueOperand residues_a;
  ResidueOperand residues_b;
};

// Bytes of a kernel's argument.
constexpr std::size_t params_bytes(const KernelConfig& config) {
  if (is_unmapped(config)) return sizeof(KernelParams);
  return has_residues(config) ? sizeof(ResidueParams) : sizeof(MappedParams);
}

}  // namespace bwgemm
