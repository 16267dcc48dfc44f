// SPDX-License-Identifier: Apache-2.0
// Problems for the unit tests, with made-up addresses: nothing here is dereferenced.
#pragma once

#include <cstdint>

#include "core/problem.h"

namespace bwgemm::test {

inline const void* address(std::uintptr_t value) {
  return reinterpret_cast<const void*>(value);
}

struct Types {
  Dtype input = Dtype::bf16, output = Dtype::bf16;
};

// Whether A and B are contiguous along k, as in the letters of kernel names: kk, kn, mk, mn.
struct Majors {
  bool a_along_k = true, b_along_k = true;
};
inline constexpr Majors kk{true, true}, kn{true, false}, mk{false, true}, mn{false, false};

// Densely packed, D in row order, C the same as D, alpha 1, beta 0, aligned bases.
inline Problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, Majors majors = kk,
                          Types types = {}, std::int64_t batch = 1) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.batch = batch;
  problem.a = {address(0x100000000), types.input, majors.a_along_k ? Order::row : Order::column,
               majors.a_along_k ? k : m, m * k};
  problem.b = {address(0x200000000), types.input, majors.b_along_k ? Order::column : Order::row,
               majors.b_along_k ? k : n, k * n};
  problem.d = {address(0x300000000), types.output, Order::row, n, m * n};
  problem.c = problem.d;
  problem.alpha.value = 1;
  return problem;
}

// Lines of A and of B lie an odd number of elements apart.
inline Problem in_odd_lines(std::int64_t m, std::int64_t n, std::int64_t k, Majors majors = kk,
                            std::int64_t batch = 1) {
  Problem problem = problem_of(m, n, k, majors, {}, batch);
  for (Matrix* matrix : {&problem.a, &problem.b}) {
    matrix->ld |= 1;
    matrix->batch_stride = matrix->ld * (matrix == &problem.a ? (majors.a_along_k ? m : k)
                                                              : (majors.b_along_k ? n : k));
  }
  return problem;
}

}  // namespace bwgemm::test
