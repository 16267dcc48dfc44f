// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_operands.h"

#include <cmath>

#include "dropin/fake_operand.h"

namespace bwgemm::test {
namespace {

template <class Value>
Value attribute(cublasLtMatmulDesc_t desc, int number) {
  Value value{};
  std::size_t written = 0;
  cublasLtMatmulDescGetAttribute(desc, static_cast<cublasLtMatmulDescAttributes_t>(number), &value,
                                 sizeof value, &written);
  return value;
}

template <class Value>
Value attribute(cublasLtMatrixLayout_t layout, int number) {
  Value value{};
  std::size_t written = 0;
  cublasLtMatrixLayoutGetAttribute(layout, static_cast<cublasLtMatrixLayoutAttribute_t>(number),
                                   &value, sizeof value, &written);
  return value;
}

double gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

float rounded(double value, cudaDataType type) {
  Matrix one(dtype_of(type), 1, 1, 1);
  one.set(0, 0, static_cast<float>(value));
  return one.get(0, 0);
}

// Whether they are equal, or neighbours among numbers of the type.
bool is_near(double expected, float seen, cudaDataType type) {
  const double unit = type == CUDA_R_32F ? 0x1p-14 : type == CUDA_R_16F ? 0x1p-10 : 0x1p-7;
  return std::fabs(rounded(expected, type) - seen) <= unit * std::fabs(expected) + 1e-6;
}

std::string sentence(const char* what, std::int64_t row, std::int64_t column, double expected,
                     double seen) {
  return std::string(what) + "(" + std::to_string(row) + "," + std::to_string(column) + ") is " +
         std::to_string(seen) + ", expected " + std::to_string(expected);
}

}  // namespace

float LtOperands::Stored::get(const Matrix& from, std::int64_t row, std::int64_t column) const {
  return shape.is_row_major ? from.get(column, row) : from.get(row, column);
}

LtOperands::Shape LtOperands::shape_of(cublasLtMatrixLayout_t layout) {
  return {attribute<cudaDataType>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE),
          attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS),
          attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS),
          attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD),
          attribute<int>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER) == CUBLASLT_ORDER_ROW};
}

LtOperands::Stored LtOperands::stored(const Shape& shape, unsigned seed) {
  const bool by_rows = shape.is_row_major;
  Stored made{shape, nullptr,
              Matrix(dtype_of(shape.type), by_rows ? shape.columns : shape.rows,
                     by_rows ? shape.rows : shape.columns, shape.ld)};
  for (std::int64_t column = 0; column < made.before.columns(); ++column)
    for (std::int64_t row = 0; row < made.before.rows(); ++row) {
      seed = seed * 1664525 + 1013904223;
      made.before.set(row, column, std::round(static_cast<float>(seed >> 16 & 0xff) / 43 - 3));
    }
  made.memory = std::make_unique<GuardedBuffer>(made.before);
  return made;
}

LtOperands::LtOperands(LtCall& call, bool has_own_c) {
  ta_ = attribute<int>(call.desc, CUBLASLT_MATMUL_DESC_TRANSA) != 0;
  tb_ = attribute<int>(call.desc, CUBLASLT_MATMUL_DESC_TRANSB) != 0;
  epilogue_ = attribute<std::uint32_t>(call.desc, CUBLASLT_MATMUL_DESC_EPILOGUE);
  a_ = stored(shape_of(call.a_layout), 1);
  b_ = stored(shape_of(call.b_layout), 2);
  d_ = stored(shape_of(call.d_layout), 3);
  c_ = stored(shape_of(call.c_layout), has_own_c ? 4 : 3);
  m_ = d_.shape.rows;
  n_ = d_.shape.columns;
  k_ = ta_ ? a_.shape.rows : a_.shape.columns;
  call.a = a_.memory->pointer();
  call.b = b_.memory->pointer();
  call.d = d_.memory->pointer();
  call.c = has_own_c ? c_.memory->pointer() : call.d;
  const int bias_type = attribute<int>(call.desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  const int aux_type = attribute<int>(call.desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
  const auto type_or = [&](int type) {
    return type == -1 ? d_.shape.type : static_cast<cudaDataType>(type);
  };
  const std::int64_t length = is(CUBLASLT_EPILOGUE_BGRADB) ? n_ : m_;
  bias_ = stored({type_or(bias_type), length, 1, length}, 5);
  aux_ = stored({type_or(aux_type), m_, n_, m_ + 8}, 6);
  call.set_bias(bias_.memory->pointer());
  call.set_aux(aux_.memory->pointer(), m_ + 8);
}

double LtOperands::product(std::int64_t row, std::int64_t column) const {
  double sum = 0;
  for (std::int64_t l = 0; l < k_; ++l)
    sum += static_cast<double>(ta_ ? a_.get(a_.before, l, row) : a_.get(a_.before, row, l)) *
           (tb_ ? b_.get(b_.before, column, l) : b_.get(b_.before, l, column));
  return sum;
}

double LtOperands::linear(std::int64_t row, std::int64_t column, double alpha, double beta) const {
  double x = alpha * product(row, column);
  if (beta != 0) x += beta * c_.get(c_.before, row, column);
  return is(CUBLASLT_EPILOGUE_BIAS) ? x + bias_.before.get(row, 0) : x;
}

std::string LtOperands::difference(double alpha, double beta, double added) {
  const Matrix d = d_.memory->download(), aux = aux_.memory->download();
  for (std::int64_t column = 0; column < n_; ++column)
    for (std::int64_t row = 0; row < m_; ++row) {
      const double x = linear(row, column, alpha, beta);
      const bool stores = is(128) && is(CUBLASLT_EPILOGUE_GELU);
      if (stores && !is_near(x, aux.get(row, column), aux_.shape.type))
        return sentence("aux", row, column, x, aux.get(row, column));
      double y = x;
      if (is(CUBLASLT_EPILOGUE_RELU)) y = std::max(y, 0.0);
      if (is(CUBLASLT_EPILOGUE_GELU)) y = gelu(y);
      if (is(64)) y *= gelu_slope(aux_.before.get(row, column));
      if (row == 0 && column == 0) y += added;
      const float seen = d_.get(d, row, column);
      if (!is_near(y, seen, d_.shape.type)) return sentence("D", row, column, y, seen);
    }
  for (const Stored* const one : {&a_, &b_, &c_, &d_, &bias_, &aux_}) {
    one->memory->download();
    if (std::string damage = one->memory->damage(); !damage.empty()) return damage;
  }
  return vector_difference();
}

std::string LtOperands::vector_difference() {
  const Matrix d = d_.memory->download(), bias = bias_.memory->download();
  for (std::int64_t at = 0; at < bias_.shape.rows; ++at) {
    double expected = 0;
    if (is(16)) {
      for (std::int64_t column = 0; column < n_; ++column) expected += d_.get(d, at, column);
    } else if (is(CUBLASLT_EPILOGUE_BGRADA)) {
      for (std::int64_t l = 0; l < k_; ++l)
        expected += ta_ ? a_.get(a_.before, l, at) : a_.get(a_.before, at, l);
    } else if (is(CUBLASLT_EPILOGUE_BGRADB)) {
      for (std::int64_t l = 0; l < k_; ++l)
        expected += tb_ ? b_.get(b_.before, at, l) : b_.get(b_.before, l, at);
    } else {
      expected = bias_.before.get(at, 0);
    }
    if (!is_near(expected, bias.get(at, 0), bias_.shape.type))
      return sentence("bias", at, 0, expected, bias.get(at, 0));
  }
  return "";
}

}  // namespace bwgemm::test
