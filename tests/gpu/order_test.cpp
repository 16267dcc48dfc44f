// SPDX-License-Identifier: Apache-2.0
// Row and column order of each matrix of bwgemmMatmul, with each operation: the elements are the
// same product's, and nothing between them is written.
#include <gtest/gtest.h>

#include "gpu/order_problems.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

using MatmulOrders = HandleTest;

TEST_F(MatmulOrders, OfEachMatrixWithEachOperation) {
  for (int bits = 0; bits < 64; ++bits) {
    SCOPED_TRACE(bits);
    expect_product(handle(), orders_of(bits), 72, 40, 64, {8, 1}, -2);  // what TMA loads
    expect_product(handle(), orders_of(bits), 21, 37, 19, {1, 1}, -2);
  }
}

// One row or column: a line in one order, elements of their own lines in the other.
TEST_F(MatmulOrders, OfVectors) {
  for (int bits = 0; bits < 64; ++bits)
    for (const std::int64_t gap : {0, 7}) {
      SCOPED_TRACE(testing::Message() << bits << " with a gap of " << gap);
      expect_product(handle(), orders_of(bits), 1, 72, 64, {1, gap}, 0);
      expect_product(handle(), orders_of(bits), 1, 72, 64, {1, gap}, -2);
      expect_product(handle(), orders_of(bits), 136, 1, 33, {1, gap}, 0);
      expect_product(handle(), orders_of(bits), 1, 1, 40, {1, gap}, -2);
      expect_product(handle(), orders_of(bits), 9, 40, 1, {1, gap}, -2);
    }
}

}  // namespace
}  // namespace bwgemm::test
