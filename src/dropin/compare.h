// SPDX-License-Identifier: Apache-2.0
// Compares the two results of one call on the host. An element where they differ by more than the
// rounding of its type is computed in float64, and each result must lie within its bound:
// - bwgemm's, as bwgemm.h states it: |alpha| * (k + 16) * (2^-23 * S + 2^-126) and the roundings of
//   the formula and of the type, where S is the sum over k of |a||b|;
// - cuBLAS's: the same, and partial sums that are rounded to the type of C, which cuBLAS may do
//   with up to 32 splits of k: 32 * u * |alpha| * S, u being half a unit in the last place of 1;
//   with half accumulation, which COMPUTE_16F stands for, k * 2^-11 * |alpha| * S.
// An activation passes the bounds on, times its steepness, and adds its own: bwgemm's is that of
// matmul.h, cuBLASLt's that of a tanh of 2^-11.
// At most 64 elements of a call, those that differ most, are computed. Where float's range or the
// type's is left, nothing is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dropin/call.h"

namespace bwgemm::dropin {

// A stored matrix, or a batch, on the host.
struct HostMatrix {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> starts;  // byte of the first element of each matrix of the batch
  int type = 0;
  std::int64_t ld = 0;
  bool is_row_major = false;

  double at(std::int64_t row, std::int64_t column, std::int64_t batch) const;
};

// Elements of a type as numbers.
double number(const std::byte* at, int type);
std::int64_t size_of(int type);

// Half a unit in the last place of 1.
double unit_of(int type);

struct Place {
  std::int64_t row, column, batch;
  double ours, theirs;
};

// The elements that differ by more than rounding does, the most different first, at most 64.
std::vector<Place> suspicious(const Call& call, const HostMatrix& ours, const HostMatrix& theirs);

struct Inputs {
  const HostMatrix &a, &b, &before;  // `before`: C before the call
  double alpha, beta;
  const HostMatrix* bias = nullptr;  // one column; null: none
  const HostMatrix* aux = nullptr;   // that the epilogue reads; null: none
};

// Empty if both values lie within their bounds; otherwise a sentence about the place.
std::string judge(const Call& call, const Inputs& inputs, const Place& place);

}  // namespace bwgemm::dropin
