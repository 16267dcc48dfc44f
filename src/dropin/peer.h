// SPDX-License-Identifier: Apache-2.0
// A model of cuBLAS beside bwgemm: which of the two computes a product faster. Trees of decisions,
// fitted to both libraries' times on an H100 (bench/peer/peer_trees.py), and right on an H200, too.
// The model asks neither library and depends on nothing but its arguments.
#pragma once

#include <array>
#include <cstdint>

namespace bwgemm::dropin {

// A product in column order, and what bwgemm says that it would do.
struct PeerProblem {
  std::int64_t m, n, k, batch;
  bool transa, transb;
  bool is_f16, stores_f32, reads_c;
  bool adds_bias;
  std::int32_t activation;  // a bwgemmActivation_t
  // Bytes, up to 16, at multiples of which all rows or columns of a matrix begin.
  std::int64_t a_alignment, b_alignment, d_alignment;
  double predicted_us;
  const char* kernel;  // its name, which says what it is like
  int tile_columns, splits;
  bool copies_operands;
};

// What the trees ask for, in whole numbers.
inline constexpr int peer_features = 43;
using PeerFeatures = std::array<std::int32_t, peer_features>;
PeerFeatures features_of(const PeerProblem& problem);

// The larger, the less likely bwgemm is more than 3 % slower.
int lead_of(const PeerFeatures& features);

// Whether bwgemm should compute it. Of 100 such problems that the trees were not fitted to, 2 at
// most were more than 3 % slower on an H100.
bool is_faster(const PeerFeatures& features);

}  // namespace bwgemm::dropin
