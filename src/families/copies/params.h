// SPDX-License-Identifier: Apache-2.0
// CopiesParams: the one argument of the kernels that copy operands whose lines start anywhere to
// where TMA can load them, and what the host must know to launch them.
#pragma once

#include <array>
#include <cstdint>

#include "core/kernel_config.h"
#include "core/kernel_name.h"

namespace bwgemm {

inline constexpr int copy_kernel = -1;  // see families/helpers.h

namespace copies {

inline constexpr int threads = 256;
inline constexpr int thread_units = 4;  // of 16 bytes, under way at once
inline constexpr int piece_units = threads * thread_units;
inline constexpr int ctas_per_sm = 4;

constexpr KernelName kernel_name(Arch arch) {
  KernelName text;
  return text.add("bwgemm_").add(name(arch)).add("_copy");
}

}  // namespace copies

// All batches of one operand of 2-byte elements. Lines are what lies together: rows or columns.
struct OperandCopy {
  const void* from;
  void* to;                                // a multiple of 16 bytes
  std::int64_t from_ld, from_batch_bytes;  // between lines, in bytes
  std::int64_t to_ld, to_batch_bytes;      // likewise, multiples of 16
  std::uint32_t lines;                     // of a batch
  std::uint32_t line_units, line_elements;
  std::uint32_t units;  // in all: lines * batches * line_units
};

struct CopiesParams {
  std::array<OperandCopy, 2> operands;  // of A and of B; without units: that one is not copied
  std::uint32_t first_pieces, pieces;   // of the first operand, and of both
  const float* alpha;  // on the device, else null: where it is zero nobody reads what is copied
  // The product may start when nothing is left to load, not only when all CTAs are gone.
  bool lets_product_start;
};

}  // namespace bwgemm
