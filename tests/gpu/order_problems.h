// SPDX-License-Identifier: Apache-2.0
// Products of integers whose matrices lie in rows or in columns.
#pragma once

#include <cstdint>

#include "support/gemm_case.h"

namespace bwgemm::test {

// How far lines are apart: `gap` elements at least, and a multiple.
struct Pitch {
  std::int64_t multiple, gap;
};

struct Orders {
  bool transa, transb, a, b, c, d;  // a to d: in rows
};

// Each bit is one of them.
Orders orders_of(int bits);

// Calls twice: the second call has the plan of the first.
void expect_product(bwgemmHandle_t handle, const Orders& orders, std::int64_t m, std::int64_t n,
                    std::int64_t k, const Pitch& pitch, float beta);

}  // namespace bwgemm::test
