// SPDX-License-Identifier: Apache-2.0
// Copies: operands that TMA cannot load, because their lines start anywhere, copied in front of the
// product to where it can: which they are, how the copies lie in the call's workspace, and what
// they cost. The kernel that makes them is families/copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/device_facts.h"
#include "core/problem.h"

namespace bwgemm {

// Whether a kernel finds the operands where the caller has them. Where TMA can load neither, one of
// them may be copied and the other stay: all the workspace is the one's.
enum class Operands : std::uint8_t { in_place, copied, copied_a, copied_b };

inline constexpr std::initializer_list<Operands> all_operands{
    Operands::in_place, Operands::copied, Operands::copied_a, Operands::copied_b};

constexpr std::string_view name(Operands operands) {
  switch (operands) {
    case Operands::in_place: return "in_place";
    case Operands::copied: return "copied";
    case Operands::copied_a: return "copied_a";
    case Operands::copied_b: return "copied_b";
  }
  return "";
}

// One operand as it is copied. Lines are what lies together: rows or columns.
struct CopiedLines {
  std::int64_t elements, lines, batches;  // of each line; of each batch; 1 where they are one
  std::int64_t pitch;                     // elements from line to line of the copy
  std::size_t at, bytes;                  // of the workspace; both whole lines of L2
};

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

}  // namespace bwgemm
