// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

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

double gelu(double x) {
  return x / 2 * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

// One product, with what its descriptor fuses to it.
class Product {
 public:
  Product(const FakeLtProduct& call, double error)
      : error_(error),
        desc_(*call.desc),
        alpha_(scalar(call, call.alpha)),
        beta_(scalar(call, call.beta)),
        m_(call.d_layout->long_whole(CUBLASLT_MATRIX_LAYOUT_ROWS)),
        n_(call.d_layout->long_whole(CUBLASLT_MATRIX_LAYOUT_COLS)),
        k_(call.a_layout->long_whole(ta_ ? CUBLASLT_MATRIX_LAYOUT_ROWS
                                         : CUBLASLT_MATRIX_LAYOUT_COLS)),
        d_type_(call.d_layout->whole(CUBLASLT_MATRIX_LAYOUT_TYPE)),
        a_(operand(call.A, *call.a_layout)),
        b_(operand(call.B, *call.b_layout)),
        c_(operand(beta_ != 0 ? call.C : call.D, beta_ != 0 ? *call.c_layout : *call.d_layout)),
        d_(operand(call.D, *call.d_layout)) {}

  void compute() {
    gradient_.assign(static_cast<std::size_t>(m_), 0);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < m_; ++i) element(i, j);
    d_.upload();
    if (stores_aux_) aux_.upload();
    if (is(16)) put(gradient_);
    if (is(CUBLASLT_EPILOGUE_BGRADA)) put(sums_of(m_, [&](auto i, auto l) { return a(i, l); }));
    if (is(CUBLASLT_EPILOGUE_BGRADB)) put(sums_of(n_, [&](auto j, auto l) { return b(l, j); }));
  }

 private:
  bool is(int bits) const { return (epilogue_ & bits) != 0; }
  int type_or_that_of_d(int attribute) const {
    return desc_.whole(attribute) == -1 ? d_type_ : desc_.whole(attribute);
  }
  float a(std::int64_t i, std::int64_t l) const { return ta_ ? a_.get(l, i) : a_.get(i, l); }
  float b(std::int64_t l, std::int64_t j) const { return tb_ ? b_.get(j, l) : b_.get(l, j); }

  void element(std::int64_t i, std::int64_t j) {
    float sum = 0;
    for (std::int64_t l = 0; l < k_; ++l) sum += a(i, l) * b(l, j);
    sum *= alpha_;
    if (beta_ != 0) sum += beta_ * c_.get(i, j);
    if (is(CUBLASLT_EPILOGUE_BIAS)) sum += vector_.get(i, 0);
    if (stores_aux_) aux_.set(i, j, sum);
    if (i == 0 && j == 0) sum += static_cast<float>(error_);
    if (is(CUBLASLT_EPILOGUE_RELU)) sum = std::max(sum, 0.0F);
    if (is(CUBLASLT_EPILOGUE_GELU)) sum = static_cast<float>(gelu(sum));
    if (is(64)) sum *= static_cast<float>(gelu_slope(aux_.get(i, j)));
    d_.set(i, j, sum);
    gradient_[static_cast<std::size_t>(i)] += d_.get(i, j);
  }
  template <class Element>
  std::vector<float> sums_of(std::int64_t count, const Element& at) const {
    std::vector<float> sums(static_cast<std::size_t>(count));
    for (std::int64_t row = 0; row < count; ++row)
      for (std::int64_t l = 0; l < k_; ++l) sums[static_cast<std::size_t>(row)] += at(row, l);
    return sums;
  }
  void put(const std::vector<float>& sums) {
    for (std::size_t at = 0; at < sums.size(); ++at)
      vector_.set(static_cast<std::int64_t>(at), 0, sums[at] + static_cast<float>(error_));
    vector_.upload();
  }

  double error_;
  const cublasLtMatmulDescOpaque& desc_;
  bool ta_ = desc_.whole(CUBLASLT_MATMUL_DESC_TRANSA) != 0;
  bool tb_ = desc_.whole(CUBLASLT_MATMUL_DESC_TRANSB) != 0;
  int epilogue_ = desc_.whole(CUBLASLT_MATMUL_DESC_EPILOGUE);
  float alpha_, beta_;
  std::int64_t m_, n_, k_;
  int d_type_;
  DeviceOperand a_, b_, c_, d_;
  bool stores_aux_ = is(128) && is(CUBLASLT_EPILOGUE_GELU);
  std::int64_t length_ = is(CUBLASLT_EPILOGUE_BGRADB) ? n_ : m_;
  DeviceOperand vector_{desc_.pointer<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER),
                        type_or_that_of_d(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE),
                        is(CUBLASLT_EPILOGUE_BIAS | 16 | 256 | 512) ? length_ : 0, 1, length_};
  DeviceOperand aux_{desc_.pointer<const void*>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER),
                     type_or_that_of_d(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE),
                     is(128) ? m_ : 0, n_, desc_.long_whole(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD)};
  std::vector<float> gradient_;
};

}  // namespace

void multiply(const FakeLtProduct& call, double error) {
  const std::int64_t times =
      call.algo != nullptr ? static_cast<std::int64_t>(call.algo->data[0]) : 1;
  if (spends(times * call.d_layout->long_whole(CUBLASLT_MATRIX_LAYOUT_ROWS), call.stream)) return;
  driver_call("cuStreamSynchronize", call.stream);
  Product(call, error).compute();
}

}  // namespace bwgemm::test
