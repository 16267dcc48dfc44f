// SPDX-License-Identifier: Apache-2.0
#include "gpu/order_problems.h"

#include <gtest/gtest.h>

namespace bwgemm::test {
namespace {

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

constexpr float alpha = 0.5f;

}  // namespace

Orders orders_of(int bits) {
  const auto has = [bits](int bit) { return (bits >> bit & 1) != 0; };
  return {has(0), has(1), has(2), has(3), has(4), has(5)};
}

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
  for (int call = 0; call < 2; ++call)
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

}  // namespace bwgemm::test
