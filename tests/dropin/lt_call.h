// SPDX-License-Identifier: Apache-2.0
// A call of cublasLtMatmul as a program makes it: a descriptor and four layouts of cuBLASLt's own,
// which a test changes by cuBLASLt's setters.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>

#include "dropin/fake_cublaslt.h"

namespace bwgemm::test {

class LtCall {
 public:
  // By default D of 256 x 128 is the product of the transpose of A, of 192 x 256, and B, all of
  // bfloat16 and dense in columns; C has D's layout, but is another object.
  explicit LtCall(cublasLtHandle_t with, std::int64_t m = 256, std::int64_t n = 128,
                  std::int64_t k = 192, cudaDataType type = CUDA_R_16BF);
  ~LtCall();
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  // An attribute of the descriptor, by its number: it may be one that the library does not know.
  template <class Value>
  void set(int attribute, const Value& value) {
    ASSERT_EQ(
        cublasLtMatmulDescSetAttribute(desc, static_cast<cublasLtMatmulDescAttributes_t>(attribute),
                                       &value, sizeof value),
        CUBLAS_STATUS_SUCCESS)
        << attribute;
  }
  template <class Value>
  static void set(cublasLtMatrixLayout_t layout, int attribute, const Value& value) {
    ASSERT_EQ(
        cublasLtMatrixLayoutSetAttribute(
            layout, static_cast<cublasLtMatrixLayoutAttribute_t>(attribute), &value, sizeof value),
        CUBLAS_STATUS_SUCCESS)
        << attribute;
  }
  void set_epilogue(std::uint32_t epilogue) { set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue); }
  void set_bias(const void* bias) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }
  void set_aux(const void* aux, std::int64_t ld) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
  }
  void set_types(cudaDataType of_inputs, cudaDataType of_outputs);
  void set_batch(std::int32_t batch, std::int64_t stride_a, std::int64_t stride_b,
                 std::int64_t stride_d);

  cublasStatus_t run() const;
  // Checks that cuBLASLt got the very arguments of run().
  void expect_seen(const FakeLtProduct& seen) const;

  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a_layout = nullptr, b_layout = nullptr, c_layout = nullptr,
                         d_layout = nullptr;
  float one = 1, zero = 0;
  const void *alpha = &one, *beta = &zero;
  const void* a = reinterpret_cast<void*>(0x7f0000000000);
  const void* b = reinterpret_cast<void*>(0x7f0010000000);
  const void* c = reinterpret_cast<void*>(0x7f0020000000);
  void* d = reinterpret_cast<void*>(0x7f0020000000);
  const cublasLtMatmulAlgo_t* algo = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_size = 0;
  cudaStream_t stream = nullptr;

 private:
  cublasLtMatrixLayout_t made_[4] = {};
};

}  // namespace bwgemm::test
