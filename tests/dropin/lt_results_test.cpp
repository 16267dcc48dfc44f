// SPDX-License-Identifier: Apache-2.0
// Results of calls of cublasLtMatmul that are served, on a device that computes.
#include <gtest/gtest.h>
#include <string>

#include "dropin/lt_operands.h"
#include "dropin/lt_preloaded.h"

namespace bwgemm::test {
namespace {

class DropinLtResults : public LtPreloaded {
 protected:
  static constexpr std::int64_t m = 40, n = 24, k = 64;

  static void expect_right(LtCall& call, bool has_own_c, double alpha, double beta,
                           const std::string& what) {
    LtOperands operands(call, has_own_c);
    ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS) << what;
    EXPECT_EQ(operands.difference(alpha, beta), "") << what;
    EXPECT_EQ(fakeCublasLtLast().count, 0) << "cuBLASLt computed: " << what;
  }
};

TEST_F(DropinLtResults, OfEveryEpilogue) {
  for (const std::uint32_t epilogue :
       {1U, 2U, 4U, 6U, 32U, 36U, 160U, 164U, 192U, 208U, 256U, 512U})
    for (const int type : {-1, static_cast<int>(CUDA_R_32F)}) {
      LtCall call(lt(), m, n, k);
      call.set_epilogue(epilogue);
      call.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
      call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type);
      expect_right(call, false, 1, 0, std::to_string(epilogue));
    }
}

TEST_F(DropinLtResults, OfCApartFromD) {
  const float half = 0.5F, two = 2;
  for (const bool has_own_c : {false, true}) {
    LtCall call(lt(), m, n, k, CUDA_R_16F);
    call.set_epilogue(CUBLASLT_EPILOGUE_RELU_BIAS);
    call.alpha = &half;
    call.beta = &two;
    if (has_own_c) {
      call.set(call.c_layout, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_32F);
      call.set(call.c_layout, CUBLASLT_MATRIX_LAYOUT_LD, m + 5);
    }
    expect_right(call, has_own_c, 0.5, 2, std::to_string(has_own_c));
  }
}

// Each of the four matrices by itself, with either operation.
TEST_F(DropinLtResults, OfEveryOrder) {
  for (int bits = 0; bits < 64; ++bits) {
    LtCall call(lt(), m, n, k);
    const bool ta = (bits & 16) != 0, tb = (bits & 32) != 0;
    const std::int64_t sizes[4][2] = {
        {ta ? k : m, ta ? m : k}, {tb ? n : k, tb ? k : n}, {m, n}, {m, n}};
    const cublasLtMatrixLayout_t layouts[] = {call.a_layout, call.b_layout, call.c_layout,
                                              call.d_layout};
    for (int matrix = 0; matrix < 4; ++matrix) {
      const bool by_rows = (bits >> matrix & 1) != 0;
      call.set(layouts[matrix], CUBLASLT_MATRIX_LAYOUT_ORDER, by_rows ? 1 : 0);
      call.set(layouts[matrix], CUBLASLT_MATRIX_LAYOUT_ROWS,
               static_cast<std::uint64_t>(sizes[matrix][0]));
      call.set(layouts[matrix], CUBLASLT_MATRIX_LAYOUT_COLS,
               static_cast<std::uint64_t>(sizes[matrix][1]));
      call.set(layouts[matrix], CUBLASLT_MATRIX_LAYOUT_LD, sizes[matrix][by_rows ? 1 : 0] + 8);
    }
    call.set(CUBLASLT_MATMUL_DESC_TRANSA, ta ? CUBLAS_OP_T : CUBLAS_OP_N);
    call.set(CUBLASLT_MATMUL_DESC_TRANSB, tb ? CUBLAS_OP_C : CUBLAS_OP_N);
    call.set_epilogue(CUBLASLT_EPILOGUE_BIAS);
    call.beta = &call.one;
    expect_right(call, true, 1, 1, std::to_string(bits));
  }
}

TEST_F(DropinLtResults, OfScalarsOnTheDevice) {
  const DeviceMemory scalars(2 * sizeof(float));
  const float values[] = {0.5F, 3};
  check(driver().memcpy_htod(scalars.address(), values, sizeof values), "cuMemcpyHtoD");
  LtCall call(lt(), m, n, k);
  call.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, 1);
  call.alpha = scalars.as<float>();
  call.beta = scalars.as<float>() + 1;
  expect_right(call, true, 0.5, 3, "");
}

// A bias and an aux matrix of each batch, and of all.
TEST_F(DropinLtResults, OfBatches) {
  constexpr std::int64_t batch = 3;
  const Matrix a(Dtype::bf16, k, m * batch, k), b(Dtype::bf16, k, n * batch, k);
  for (const std::int64_t stride_bias : {std::int64_t{0}, m}) {
    LtCall call(lt(), m, n, k);
    call.set_batch(batch, k * m, k * n, m * n);
    call.set_epilogue(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
    Matrix ones_a = a, ones_b = b, bias(Dtype::bf16, m, batch, m);
    for (std::int64_t column = 0; column < m * batch; ++column)
      for (std::int64_t l = 0; l < k; ++l) ones_a.set(l, column, l == 0 ? 1 : 0);
    for (std::int64_t column = 0; column < n * batch; ++column)
      for (std::int64_t l = 0; l < k; ++l)
        ones_b.set(l, column, static_cast<float>(column / n));  // the batch
    for (std::int64_t at = 0; at < batch; ++at)
      for (std::int64_t row = 0; row < m; ++row) bias.set(row, at, static_cast<float>(8 * at + 8));
    const GuardedBuffer memory_a(ones_a), memory_b(ones_b), memory_bias(bias);
    GuardedBuffer memory_d(Matrix(Dtype::bf16, m, n * batch, m));
    GuardedBuffer memory_aux(Matrix(Dtype::bf16, m, n * batch, m));
    call.a = memory_a.pointer();
    call.b = memory_b.pointer();
    call.c = call.d = memory_d.pointer();
    call.set_bias(memory_bias.pointer());
    call.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, stride_bias);
    call.set_aux(memory_aux.pointer(), m);
    call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, m * n);
    ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(fakeCublasLtLast().count, 0) << "cuBLASLt computed";
    const Matrix& aux = memory_aux.download();
    const Matrix& d = memory_d.download();
    for (std::int64_t column = 0; column < n * batch; ++column) {
      const std::int64_t at = column / n;
      const auto expected = static_cast<float>(at + 8 + (stride_bias != 0 ? 8 * at : 0));
      EXPECT_EQ(aux.get(m - 1, column), expected) << column;
      EXPECT_EQ(d.get(m - 1, column), expected) << column;  // gelu of so large a number
    }
    EXPECT_EQ(memory_d.damage() + memory_aux.damage(), "");
  }
}

}  // namespace
}  // namespace bwgemm::test
