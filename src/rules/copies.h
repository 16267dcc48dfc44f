// SPDX-License-Identifier: Apache-2.0
// Copies of operands that TMA cannot load, and the division of a product whose copies exceed the
// workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/device_facts.h"
#include "core/problem.h"
#include "rules/choice.h"

namespace bwgemm {

// One operand as it is copied. Lines are what lies together: rows or columns.
struct CopiedLines {
  std::int64_t elements, lines, batches;  // of each line; of each batch; 1 where they are one
  std::int64_t pitch;                     // elements from line to line of the copy
  std::size_t at, bytes;                  // of the workspace; both whole lines of L2
};

// Operands that TMA cannot load, because their lines start anywhere, copied in front of the product
// to where it can: into the beginning of the call's workspace, by the kernel of families/copies.
struct Copies {
  std::optional<CopiedLines> a, b;

  bool any() const { return a || b; }
  std::size_t bytes() const { return (a ? a->bytes : 0) + (b ? b->bytes : 0); }
};

// Copies of every operand that TMA cannot load, or of one of the two. None at all if one of those
// operands cannot be copied or is not worth a copy: arrays of pointers, lines of less than 16
// bytes, more than a launch can count.
Copies copies_of(const Problem& problem, Operands operands = Operands::copied);

// Where selection, which knows no addresses, takes the workspace to be.
inline constexpr std::uintptr_t nominal_workspace = 256;

// The problem with its copies where the workspace is.
Problem with_copies(Problem problem, const Copies& copies,
                    std::uintptr_t workspace = nominal_workspace);

// Launch included. facts.sm_count is what the call may occupy.
double copying_us(const Copies& copies, const DeviceFacts& facts);

inline constexpr int most_parts = 64;

// The fewest parts whose copies fit. Nothing if there are none; not divided are batches, gates,
// sums beside the product, and two copied operands.
std::optional<Division> division_of(const Problem& problem, Operands operands,
                                    std::size_t workspace_bytes);

// The index-th product; undivided the problem itself.
Problem part_of(const Problem& problem, const Division& division, int index);

}  // namespace bwgemm
