// SPDX-License-Identifier: Apache-2.0
// Parts: a product whose copied operand does not fit the workspace, as products of some of its rows
// or columns each, one after the other. What a part computes is not changed by where it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/problem.h"
#include "rules/copies.h"

namespace bwgemm {

struct Division {
  int parts = 1;
  bool of_n = false;       // each part has some columns of D; else some rows
  std::int64_t lines = 0;  // so many, but the last, which may have less; undivided: not looked at

  bool operator==(const Division&) const = default;
};

inline constexpr int most_parts = 64;

// The fewest parts whose copies fit. Nothing if there are none; not divided are batches, gates,
// sums beside the product, and two copied operands.
std::optional<Division> division_of(const Problem& problem, Operands operands,
                                    std::size_t workspace_bytes);

// The index-th product; undivided the problem itself.
Problem part_of(const Problem& problem, const Division& division, int index);

}  // namespace bwgemm
