// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_call.h"

namespace bwgemm::test {

LtCall::LtCall(cublasLtHandle_t with, std::int64_t m, std::int64_t n, std::int64_t k,
               cudaDataType type)
    : handle(with) {
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto layout = [=](std::int64_t rows, std::int64_t columns) {
    cublasLtMatrixLayout_t made = nullptr;
    cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                               static_cast<std::uint64_t>(columns), rows);
    return made;
  };
  made_[0] = a_layout = layout(k, m);
  made_[1] = b_layout = layout(k, n);
  made_[2] = c_layout = layout(m, n);
  made_[3] = d_layout = layout(m, n);
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
}

LtCall::~LtCall() {
  cublasLtMatmulDescDestroy(desc);
  for (const cublasLtMatrixLayout_t layout : made_) cublasLtMatrixLayoutDestroy(layout);
}

void LtCall::set_types(cudaDataType of_inputs, cudaDataType of_outputs) {
  for (const cublasLtMatrixLayout_t layout : {a_layout, b_layout})
    set(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, of_inputs);
  for (const cublasLtMatrixLayout_t layout : {c_layout, d_layout})
    set(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, of_outputs);
}

void LtCall::set_batch(std::int32_t batch, std::int64_t stride_a, std::int64_t stride_b,
                       std::int64_t stride_d) {
  for (const cublasLtMatrixLayout_t layout : {a_layout, b_layout, c_layout, d_layout})
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
  set(a_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride_a);
  set(b_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride_b);
  set(c_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride_d);
  set(d_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride_d);
}

cublasStatus_t LtCall::run() const {
  return cublasLtMatmul(handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                        d_layout, algo, workspace, workspace_size, stream);
}

void LtCall::expect_seen(const FakeLtProduct& seen) const {
  EXPECT_EQ(seen.handle, handle);
  EXPECT_EQ(seen.desc, desc);
  EXPECT_EQ(seen.a_layout, a_layout);
  EXPECT_EQ(seen.b_layout, b_layout);
  EXPECT_EQ(seen.c_layout, c_layout);
  EXPECT_EQ(seen.d_layout, d_layout);
  EXPECT_EQ(seen.alpha, alpha);
  EXPECT_EQ(seen.beta, beta);
  EXPECT_EQ(seen.A, a);
  EXPECT_EQ(seen.B, b);
  EXPECT_EQ(seen.C, c);
  EXPECT_EQ(seen.D, d);
  EXPECT_EQ(seen.algo, algo);
  EXPECT_EQ(seen.workspace, workspace);
  EXPECT_EQ(seen.workspace_size, workspace_size);
  EXPECT_EQ(seen.stream, stream);
}

}  // namespace bwgemm::test
