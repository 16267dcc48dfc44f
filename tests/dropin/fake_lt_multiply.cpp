// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "dropin/fake_lt_objects.h"
#include "dropin/fake_multiply.h"
#include "dropin/fake_operand.h"

namespace bwgemm::test {
namespace {

DeviceOperand operand(const void* data, const cublasLtMatrixLayoutOpaque& layout) {
  return {data,
          layout.whole(CUBLASLT_MATRIX_LAYOUT_TYPE),
          layout.long_whole(CUBLASLT_MATRIX_LAYOUT_ROWS),
          layout.long_whole(CUBLASLT_MATRIX_LAYOUT_COLS),
          layout.long_whole(CUBLASLT_MATRIX_LAYOUT_LD),
          layout.whole(CUBLASLT_MATRIX_LAYOUT_ORDER) == CUBLASLT_ORDER_ROW};
}

float scalar(const FakeLtProduct& call, const void* at) {
  float value = 0;
  if (call.desc->whole(CUBLASLT_MATMUL_DESC_POINTER_MODE) == CUBLAS_POINTER_MODE_DEVICE)
    copy_to_host(&value, at, sizeof value);
  else
    std::memcpy(&value, at, sizeof value);
  return value;
}

float gelu(float x) {
  return x / 2 * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
}

}  // namespace

void multiply(const FakeLtProduct& call, double error) {
  driver_call("cuStreamSynchronize", call.stream);
  const cublasLtMatmulDescOpaque& desc = *call.desc;
  const float alpha = scalar(call, call.alpha), beta = scalar(call, call.beta);
  const bool ta = desc.whole(CUBLASLT_MATMUL_DESC_TRANSA) != 0;
  const bool tb = desc.whole(CUBLASLT_MATMUL_DESC_TRANSB) != 0;
  const int epilogue = desc.whole(CUBLASLT_MATMUL_DESC_EPILOGUE);
  const DeviceOperand a = operand(call.A, *call.a_layout), b = operand(call.B, *call.b_layout);
  const DeviceOperand c = operand(beta != 0 ? call.C : call.D, *call.c_layout);
  DeviceOperand d = operand(call.D, *call.d_layout);
  const std::int64_t m = call.d_layout->long_whole(CUBLASLT_MATRIX_LAYOUT_ROWS);
  const std::int64_t n = call.d_layout->long_whole(CUBLASLT_MATRIX_LAYOUT_COLS);
  const std::int64_t k =
      call.a_layout->long_whole(ta ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS);
  const bool has_bias = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  const DeviceOperand bias(desc.pointer<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER),
                           call.d_layout->whole(CUBLASLT_MATRIX_LAYOUT_TYPE), has_bias ? m : 0, 1,
                           m);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += (ta ? a.get(l, i) : a.get(i, l)) * (tb ? b.get(j, l) : b.get(l, j));
      sum *= alpha;
      if (beta != 0) sum += beta * c.get(i, j);
      if (has_bias) sum += bias.get(i, 0);
      if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) sum = std::max(sum, 0.0F);
      if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0) sum = gelu(sum);
      if (i == 0 && j == 0) sum += static_cast<float>(error);
      d.set(i, j, sum);
    }
  d.upload();
}

}  // namespace bwgemm::test
