// SPDX-License-Identifier: Apache-2.0
// Row and column order of each matrix of bwgemmMatmul, with each operation: the elements are the
// same product's, and nothing between them is written.
#include <gtest/gtest.h>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

// How far lines are apart: `gap` elements at least, and a multiple.
struct Pitch {
  std::int64_t multiple, gap;
};

// Of rows x columns as the product sees it before op(), in either order.
Matrix ordered(Dtype type, std::int64_t rows, std::int64_t columns, bool in_rows,
               const Pitch& pitch) {
  const std::int64_t length = in_rows ? columns : rows, lines = in_rows ? rows : columns;
  const std::int64_t units = (length + pitch.gap + pitch.multiple - 1) / pitch.multiple;
  return {type, length, lines, units * pitch.multiple};
}

float at(const Matrix& matrix, bool in_rows, std::int64_t row, std::int64_t column) {
  return in_rows ? matrix.get(column, row) : matrix.get(row, column);
}

struct Orders {
  bool transa, transb, a, b, c, d;  // a to d: in rows
};

Orders orders_of(int bits) {
  const auto has = [bits](int bit) { return (bits >> bit & 1) != 0; };
  return {has(0), has(1), has(2), has(3), has(4), has(5)};
}

constexpr float alpha = 0.5f;

void expect_product(bwgemmHandle_t handle, const Orders& orders, std::int64_t m, std::int64_t n,
                    std::int64_t k, const Pitch& pitch, float beta) {
  Matrix a = orders.transa ? ordered(Dtype::bf16, k, m, orders.a, pitch)
                           : ordered(Dtype::bf16, m, k, orders.a, pitch);
  Matrix b = orders.transb ? ordered(Dtype::bf16, n, k, orders.b, pitch)
                           : ordered(Dtype::bf16, k, n, orders.b, pitch);
  Matrix c = ordered(Dtype::bf16, m, n, orders.c, pitch);
  const Matrix d = ordered(Dtype::f32, m, n, orders.d, pitch);
  fill_matrix(a, Fill::integers, 1);
  fill_matrix(b, Fill::integers, 2);
  fill_matrix(c, Fill::integers, 3);
  GuardedBuffer device_a(a), device_b(b), device_c(c), device_d(d);
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = orders.transa ? BWGEMM_OP_T : BWGEMM_OP_N;
  desc.transb = orders.transb ? BWGEMM_OP_T : BWGEMM_OP_N;
  desc.m = m, desc.n = n, desc.k = k;
  desc.Dtype = BWGEMM_R_32F;
  desc.Aorder = orders.a, desc.Border = orders.b, desc.Corder = orders.c, desc.Dorder = orders.d;
  desc.lda = a.ld(), desc.ldb = b.ld(), desc.ldc = c.ld(), desc.ldd = d.ld();
  for (int call = 0; call < 2; ++call)  // the second has the plan of the first
    ASSERT_TRUE(succeeds(bwgemmMatmul(handle, &desc, &alpha, device_a.pointer(), device_b.pointer(),
                                      &beta, device_c.pointer(), device_d.pointer())));
  const Matrix& after = device_d.download();
  EXPECT_EQ(device_d.damage(), "");
  const Product sums =
      product({&a, orders.transa != orders.a, 0}, {&b, orders.transb != orders.b, 0});
  int wrong = 0;
  for (std::size_t row = 0; row < sums.rows.size(); ++row)
    for (std::size_t column = 0; column < sums.columns.size(); ++column) {
      const std::int64_t i = sums.rows[row], j = sums.columns[column];
      wrong += at(after, orders.d, i, j) !=
               alpha * sums.sum[sums.index(row, column)] + beta * at(c, orders.c, i, j);
    }
  EXPECT_EQ(wrong, 0);
}

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
