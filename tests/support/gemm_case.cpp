// SPDX-License-Identifier: Apache-2.0
#include "support/gemm_case.h"

#include <cstring>
#include <map>
#include <sstream>

#include "support/in_blocks.h"

namespace bwgemm::test {
namespace {

std::int64_t leading_dimension(std::int64_t rows, std::int64_t extra, std::int64_t multiple) {
  const std::int64_t ld = std::max<std::int64_t>(rows, 1) + extra;
  return (ld + multiple - 1) / multiple * multiple;
}

Matrix operand(const GemmCase& gemm, bool transposed, std::int64_t rows, std::int64_t columns,
               std::int64_t extra, bool repeat, std::uint64_t seed) {
  if (transposed) std::swap(rows, columns);
  const std::int64_t ld = leading_dimension(rows, extra, gemm.ld_multiple);
  const std::int64_t stride = repeat ? 0 : ld * columns + gemm.stride_extra;
  Matrix matrix(gemm.input, rows, columns, ld, repeat ? 1 : gemm.batch, stride);
  fill_matrix(matrix, gemm.fill, seed);
  return matrix;
}

const char* letter(bwgemmOperation_t operation) {
  return operation == BWGEMM_OP_N ? "N" : operation == BWGEMM_OP_T ? "T" : "C";
}

}  // namespace

std::shared_ptr<const Product> shared_product(const GemmCase& gemm, const Operand& a,
                                              const Operand& b) {
  std::ostringstream key;
  key << a.transposed << b.transposed << ' ' << gemm.m << ' ' << gemm.n << ' ' << gemm.k << ' '
      << name(gemm.input) << int(gemm.fill) << ' ' << gemm.seed << ' ' << a.batch << ' ' << b.batch;
  thread_local std::map<std::string, std::shared_ptr<const Product>> kept;
  if (const auto found = kept.find(key.str()); found != kept.end()) return found->second;
  if (kept.size() >= 8) kept.clear();
  return kept[key.str()] = std::make_shared<const Product>(product(a, b));
}

std::ostream& operator<<(std::ostream& out, const GemmCase& gemm) {
  return out << letter(gemm.transa) << letter(gemm.transb) << ' ' << gemm.m << 'x' << gemm.n << 'x'
             << gemm.k << ' ' << name(gemm.input) << "->" << name(gemm.output)
             << " alpha=" << gemm.alpha << " beta=" << gemm.beta << " extra=" << gemm.lda_extra
             << ',' << gemm.ldb_extra << ',' << gemm.ldc_extra << " multiple=" << gemm.ld_multiple
             << " displacement=" << gemm.a_displacement << ',' << gemm.b_displacement << ','
             << gemm.c_displacement << " batch=" << gemm.batch << (gemm.repeat_a ? " repeat a" : "")
             << (gemm.repeat_b ? " repeat b" : "") << (gemm.nothing_behind ? " nothing behind" : "")
             << " fill=" << int(gemm.fill) << " seed=" << gemm.seed;
}

Operands::Operands(const GemmCase& gemm)
    : gemm_(gemm),
      a_(operand(gemm, gemm.transa != BWGEMM_OP_N, gemm.m, gemm.k, gemm.lda_extra, gemm.repeat_a,
                 3 * gemm.seed)),
      b_(operand(gemm, gemm.transb != BWGEMM_OP_N, gemm.k, gemm.n, gemm.ldb_extra, gemm.repeat_b,
                 3 * gemm.seed + 1)) {
  const std::int64_t ldc = leading_dimension(gemm.m, gemm.ldc_extra, gemm.ld_multiple);
  c_ = Matrix(gemm.output, gemm.m, gemm.n, ldc, gemm.batch, ldc * gemm.n + gemm.stride_extra);
  fill_matrix(c_, gemm.fill_c == Fill::normal ? gemm.fill : gemm.fill_c, 3 * gemm.seed + 2);
  const std::size_t behind = gemm.nothing_behind ? 0 : GuardedBuffer::guard_bytes;
  device_a_ = std::make_unique<GuardedBuffer>(a_, gemm.a_displacement, behind);
  device_b_ = std::make_unique<GuardedBuffer>(b_, gemm.b_displacement, behind);
  device_c_ = std::make_unique<GuardedBuffer>(c_, gemm.c_displacement);
}

void Operands::expect_result(const std::string& where) {
  const Matrix d = device_c_->download();
  EXPECT_EQ(device_c_->damage(), "") << gemm_ << where;
  device_a_->download();
  device_b_->download();
  EXPECT_TRUE(device_a_->untouched()) << "A was written: " << gemm_ << where;
  EXPECT_TRUE(device_b_->untouched()) << "B was written: " << gemm_ << where;
  for (std::int64_t batch = 0; batch < gemm_.batch; ++batch) {
    const Operand a{&a_, gemm_.transa != BWGEMM_OP_N, gemm_.repeat_a ? 0 : batch};
    const Operand b{&b_, gemm_.transb != BWGEMM_OP_N, gemm_.repeat_b ? 0 : batch};
    expect_batch(d, batch, *shared_product(gemm_, a, b), where);
  }
}

void Operands::expect_batch(const Matrix& d, std::int64_t batch, const Product& product,
                            const std::string& where) const {
  int wrong = 0;
  const auto judge = [&](std::size_t i, std::size_t j) {
    const std::int64_t row = product.rows[i], column = product.columns[j];
    const float before = c_.get(row, column, batch);
    const float after = d.get(row, column, batch);
    const std::size_t at = product.index(i, j);
    if (is_plain_result(after, product.sum[at], gemm_.k, gemm_.alpha, gemm_.beta, before,
                        gemm_.output))
      return;
    // Integer sums are exact in float: no error to allow for.
    const double magnitude = gemm_.fill == Fill::integers ? 0 : product.magnitude[at];
    const Allowed allowed = allowed_result(product.sum[at], magnitude, gemm_.k, gemm_.alpha,
                                           gemm_.beta, before, gemm_.output);
    if (is_allowed(after, allowed)) return;
    if (++wrong > 3) return;
    ADD_FAILURE() << gemm_ << where << ": batch " << batch << ", row " << row << ", column "
                  << column << ": " << after << " is not in [" << allowed.low << ", "
                  << allowed.high << "]" << (allowed.nan ? " (NaN expected)" : "") << "; exact sum "
                  << product.sum[at] << ", C was " << before;
  };
  for_each_in_blocks(static_cast<std::int64_t>(product.rows.size()),
                     static_cast<std::int64_t>(product.columns.size()),
                     [&](std::int64_t i, std::int64_t j) {
                       judge(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
                     });
  EXPECT_EQ(wrong, 0) << "elements of " << product.sum.size() << " are wrong: " << gemm_ << where;
}

bwgemmStatus_t call(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands) {
  return call(handle, gemm, operands, &gemm.alpha, &gemm.beta);
}

bwgemmStatus_t call(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands,
                    const void* alpha, const void* beta) {
  const Matrix &a = operands.a(), &b = operands.b(), &c = operands.c_before();
  if (gemm.batch == 1)
    return bwgemmGemmEx(handle, gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, alpha,
                        operands.a_pointer(), c_type(gemm.input), a.ld(), operands.b_pointer(),
                        c_type(gemm.input), b.ld(), beta, operands.c_pointer(), c_type(gemm.output),
                        c.ld(), BWGEMM_COMPUTE_32F, -1);
  return bwgemmGemmStridedBatchedEx(handle, gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, alpha,
                                    operands.a_pointer(), c_type(gemm.input), a.ld(), a.stride(),
                                    operands.b_pointer(), c_type(gemm.input), b.ld(), b.stride(),
                                    beta, operands.c_pointer(), c_type(gemm.output), c.ld(),
                                    c.stride(), gemm.batch, BWGEMM_COMPUTE_32F, -1);
}

void run(bwgemmHandle_t handle, const GemmCase& gemm) {
  Operands operands(gemm);
  EXPECT_TRUE(succeeds(call(handle, gemm, operands))) << gemm;
  operands.expect_result();
}

Handle::Handle() {
  EXPECT_TRUE(succeeds(bwgemmCreate(&handle_)));
}

Handle::~Handle() {
  EXPECT_TRUE(succeeds(bwgemmDestroy(handle_)));
}

::testing::AssertionResult succeeds(bwgemmStatus_t status) {
  if (status == BWGEMM_STATUS_SUCCESS) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << bwgemmStatusName(status) << ": " << bwgemmGetLastErrorString();
}

}  // namespace bwgemm::test
