// SPDX-License-Identifier: Apache-2.0
// Element offsets beyond 2^31 in every operand: leading dimensions, batch strides, and one matrix
// that is really that large.
#include <gtest/gtest.h>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

constexpr std::int64_t limit = std::int64_t{1} << 31;

// A column-major matrix in device memory that no host image could hold. Its elements are copied in
// and out column by column; the rest is poison.
class SparseMatrix {
 public:
  SparseMatrix(const Matrix& values, std::int64_t ld, std::int64_t stride)
      : values_(values),
        pitch_bytes_(ld * size_bytes(values.type())),
        stride_bytes_(stride * size_bytes(values.type())),
        bytes_(static_cast<std::size_t>((values.batch() - 1) * stride_bytes_ +
                                        values.columns() * pitch_bytes_)),
        memory_(bytes_) {
    check(driver().memset_d16(memory_.address(), poison, bytes_ / 2), "cuMemsetD16");
    for (std::int64_t batch = 0; batch < values.batch(); ++batch)
      for (std::int64_t column = 0; column < values.columns(); ++column)
        check(driver().memcpy_htod(address(column, batch), values_.at(0, column, batch),
                                   column_bytes()),
              "cuMemcpyHtoD");
    synchronize();
  }

  void* pointer() const { return memory_.as<>(); }

  // Waits for the device; also expects poison right behind each column.
  const Matrix& download() {
    synchronize();
    for (std::int64_t batch = 0; batch < values_.batch(); ++batch)
      for (std::int64_t column = 0; column < values_.columns(); ++column) {
        check(driver().memcpy_dtoh(values_.at(0, column, batch), address(column, batch),
                                   column_bytes()),
              "cuMemcpyDtoH");
        if (pitch_bytes_ == static_cast<std::int64_t>(column_bytes())) continue;
        std::uint16_t behind = 0;
        check(driver().memcpy_dtoh(&behind, address(column, batch) + column_bytes(), 2),
              "cuMemcpyDtoH");
        EXPECT_EQ(behind, poison) << "written behind column " << column;
      }
    return values_;
  }

 private:
  CUdeviceptr address(std::int64_t column, std::int64_t batch) const {
    return memory_.address() +
           static_cast<std::size_t>(batch * stride_bytes_ + column * pitch_bytes_);
  }
  std::size_t column_bytes() const {
    return static_cast<std::size_t>(values_.rows() * size_bytes(values_.type()));
  }

  Matrix values_;
  std::int64_t pitch_bytes_, stride_bytes_;
  std::size_t bytes_;
  DeviceMemory memory_;
};

class Large : public HandleTest {
 protected:
  // True (and the test is skipped) if the device has too little memory.
  bool too_small(double gigabytes) {
    if (small_scale()) {
      skip("too large for a slow device");
      return true;
    }
    const double free = static_cast<double>(free_device_bytes()) * 1e-9;
    if (free > gigabytes + 1) return false;
    skip("needs " + std::to_string(gigabytes) + " GB of device memory, " + std::to_string(free) +
         " GB are free");
    return true;
  }

  void expect_product(const Matrix& a, bool transa, const Matrix& b, bool transb, const Matrix& d) {
    for (std::int64_t batch = 0; batch < d.batch(); ++batch) {
      const Product exact = product({&a, transa, batch}, {&b, transb, batch});
      for (std::size_t i = 0; i < exact.rows.size(); ++i)
        for (std::size_t j = 0; j < exact.columns.size(); ++j)
          ASSERT_EQ(d.get(exact.rows[i], exact.columns[j], batch),
                    rounded_to(d.type(), static_cast<float>(exact.sum[exact.index(i, j)])))
              << "row " << exact.rows[i] << " column " << exact.columns[j] << " batch " << batch;
    }
  }

 private:
  static void skip(const std::string& reason) { GTEST_SKIP() << reason; }
};

// Which operand is spread out, and whether TMA can load it (leading dimension a multiple of 8).
struct Spread {
  char operand;
  std::int64_t odd;
};

class LargeLeadingDimension : public Large, public ::testing::WithParamInterface<Spread> {};

TEST_P(LargeLeadingDimension, OffsetsBeyond2To31) {
  if (too_small(10)) return;
  const auto [operand, odd] = GetParam();
  const std::int64_t m = 64, n = 64, k = 64;
  const std::int64_t wide =
      limit / 60 / 8 * 8 + odd;  // the last column starts beyond 2^31 elements
  ASSERT_GT(63 * wide, limit);
  Matrix a(Dtype::bf16, m, k, m), b(Dtype::bf16, k, n, k), c(Dtype::bf16, m, n, m);
  fill_matrix(a, Fill::integers, 1);
  fill_matrix(b, Fill::integers, 2);
  const std::int64_t lda = operand == 'a' ? wide : m, ldb = operand == 'b' ? wide : k,
                     ldc = operand == 'c' ? wide : m;
  SparseMatrix device_a(a, lda, 0), device_b(b, ldb, 0), device_c(c, ldc, 0);
  const float alpha = 1, beta = 0;
  ASSERT_TRUE(
      succeeds(bwgemmBf16(handle(), BWGEMM_OP_N, BWGEMM_OP_N, m, n, k, &alpha, device_a.pointer(),
                          lda, device_b.pointer(), ldb, &beta, device_c.pointer(), ldc)));
  expect_product(a, false, b, false, device_c.download());
}

INSTANTIATE_TEST_SUITE_P(Operands, LargeLeadingDimension,
                         ::testing::Values(Spread{'a', 0}, Spread{'b', 0}, Spread{'c', 0},
                                           Spread{'a', 1}, Spread{'b', 1}, Spread{'c', 1}),
                         [](const auto& info) {
                           return std::string(1, info.param.operand) +
                                  (info.param.odd != 0 ? "_unaligned" : "_aligned");
                         });

TEST_F(Large, BatchStridesBeyond2To31) {
  if (too_small(28)) return;
  for (const std::int64_t odd : {0, 1}) {
    const std::int64_t m = 72, n = 40, k = 64, stride = limit + 64 + odd;
    Matrix a(Dtype::bf16, m, k, m, 2, m * k), b(Dtype::bf16, k, n, k, 2, k * n);
    Matrix c(Dtype::bf16, m, n, m, 2, m * n);
    fill_matrix(a, Fill::integers, 3);
    fill_matrix(b, Fill::integers, 4);
    SparseMatrix device_a(a, m, stride), device_b(b, k, stride), device_c(c, m, stride);
    const float alpha = 1, beta = 0;
    ASSERT_TRUE(succeeds(bwgemmGemmStridedBatchedEx(
        handle(), BWGEMM_OP_N, BWGEMM_OP_N, m, n, k, &alpha, device_a.pointer(), BWGEMM_R_16BF, m,
        stride, device_b.pointer(), BWGEMM_R_16BF, k, stride, &beta, device_c.pointer(),
        BWGEMM_R_16BF, m, stride, 2, BWGEMM_COMPUTE_32F, -1)));
    expect_product(a, false, b, false, device_c.download());
  }
}

// Every element of a C with more than 2^31 of them is computed; rows and columns from end to end
// are looked at.
TEST_F(Large, AResultOfMoreThan2To31Elements) {
  if (too_small(6)) return;
  const std::int64_t m = 70008, n = 31000, k = 40;
  ASSERT_GT(m * n, limit);
  Matrix a(Dtype::bf16, m, k, m), b(Dtype::bf16, k, n, k);
  fill_matrix(a, Fill::integers, 5);
  fill_matrix(b, Fill::integers, 6);
  const GuardedBuffer device_a(a), device_b(b);
  const DeviceMemory c(static_cast<std::size_t>(m * n) * 2);
  check(driver().memset_d16(c.address(), poison, static_cast<std::size_t>(m * n)), "cuMemsetD16");
  synchronize();
  const float alpha = 1, beta = 0;
  ASSERT_TRUE(
      succeeds(bwgemmBf16(handle(), BWGEMM_OP_N, BWGEMM_OP_N, m, n, k, &alpha, device_a.pointer(),
                          m, device_b.pointer(), k, &beta, c.as<>(), m)));
  synchronize();
  std::vector<std::uint16_t> column(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < n; j += (n - 1) / 31) {
    check(driver().memcpy_dtoh(column.data(), c.address() + static_cast<std::size_t>(j * m) * 2,
                               column.size() * 2),
          "cuMemcpyDtoH");
    for (std::int64_t i = 0; i < m; ++i) {
      float exact = 0;
      for (std::int64_t p = 0; p < k; ++p) exact += a.get(i, p) * b.get(p, j);
      ASSERT_EQ(column[static_cast<std::size_t>(i)], to_bf16(exact))
          << "row " << i << " column " << j;
    }
  }
}

// A large square problem, all of it checked by a random projection.
TEST_F(Large, Freivalds) {
  if (too_small(1)) return;
  GemmCase gemm{
      .transa = BWGEMM_OP_T, .m = 4096, .n = 4104, .k = 2048, .beta = 1, .ld_multiple = 8};
  Operands operands(gemm);
  ASSERT_TRUE(succeeds(call(handle(), gemm, operands)));
  const Matrix& d = operands.device_c().download();
  for (const std::uint64_t seed : {1, 2})
    EXPECT_EQ(freivalds({&operands.a(), true}, {&operands.b(), false}, gemm.alpha, gemm.beta,
                        operands.c_before(), d, seed),
              "");
}

}  // namespace
}  // namespace bwgemm::test
