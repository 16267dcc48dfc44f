// SPDX-License-Identifier: Apache-2.0
// ElementwiseParams: an activation or a gate applied to a product that lies in memory, by a kernel
// of its own. bench/elementwise.cpp fills it, elementwise.cu does it.
#pragma once

#include <cstdint>

namespace bwgemm::bench {

enum class Curve : std::int32_t { silu, gelu_tanh, gelu_erf };
enum class Pairing : std::int32_t { none, interleaved, stacked };

// Lines of 16-bit elements that are next to each other; `stride` lies between batches of lines.
struct Lines {
  std::int64_t ld, stride;
};

// A piece is what one thread loads, computes and stores at once: 16 bytes of the result if
// `is_vector`, else one element.
struct ElementwiseParams {
  const void* product;
  void* result;  // may be the product if elements do not come in pairs
  Lines product_lines, result_lines;
  std::uint32_t pieces;           // of all batches
  std::uint32_t pieces_per_line;  // of the result
  std::uint32_t lines;            // of a batch; 1: so many as there are, one behind the other
  std::int64_t to_second;         // elements from the first of a stacked pair to the second
  Curve curve;
  Pairing pairing;
  bool is_vector;
};

inline constexpr int elementwise_threads = 128;
inline constexpr int elementwise_ctas_per_sm = 8;

}  // namespace bwgemm::bench
