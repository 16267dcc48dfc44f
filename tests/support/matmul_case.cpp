// SPDX-License-Identifier: Apache-2.0
#include "support/matmul_case.h"

#include <algorithm>
#include <cmath>

namespace bwgemm::test {
namespace {

constexpr double ulp = 0x1p-23;
// What the header's activations may be off by, relative to the result.
constexpr double curve_error = 0x1p-16;

double phi(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846);
}
double normal(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Curve {
  double value, slope;
};

Curve curve(bwgemmActivation_t activation, double x) {
  const double gelu = 2 * std::sqrt(2 / 3.14159265358979323846);
  switch (activation) {
    case BWGEMM_ACTIVATION_RELU: return {std::max(x, 0.0), x > 0 ? 1.0 : 0.0};
    case BWGEMM_ACTIVATION_GELU_TANH: {
      const double s = sigmoid(gelu * (x + 0.044715 * x * x * x));
      return {x * s, s + x * s * (1 - s) * gelu * (1 + 3 * 0.044715 * x * x)};
    }
    case BWGEMM_ACTIVATION_GELU_ERF: return {x * normal(x), normal(x) + x * phi(x)};
    case BWGEMM_ACTIVATION_SILU: {
      const double s = sigmoid(x);
      return {x * s, s + x * s * (1 - s)};
    }
    default: return {x, 1};
  }
}

// Half a unit in the last place, and a little for a tie; what is less than the least denormal.
double rounding(Dtype type, double value) {
  switch (type) {
    case Dtype::bf16: return std::fabs(value) * 0x1.02p-8 + 0x1p-134;
    case Dtype::f16: return std::fabs(value) * 0x1.02p-11 + 0x1p-25;
    default: return std::fabs(value) * 0x1p-24 + 0x1p-126;
  }
}

Matrix vector_of(Dtype type, std::int64_t elements, std::int64_t batch, std::uint64_t seed) {
  Matrix vector(type, elements, 1, elements, batch, elements + 3);
  fill_matrix(vector, Fill::normal, seed);
  return vector;
}

std::unique_ptr<GuardedBuffer> on_device(const Matrix& matrix, std::int64_t displacement = 0) {
  if (matrix.rows() == 0) return nullptr;
  return std::make_unique<GuardedBuffer>(matrix, displacement);
}

void* pointer(const std::unique_ptr<GuardedBuffer>& buffer) {
  return buffer != nullptr ? buffer->pointer() : nullptr;
}

std::int64_t d_rows(const MatmulCase& matmul) {
  return matmul.fusing.gate == BWGEMM_GATE_NONE ? matmul.gemm.m : matmul.gemm.m / 2;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const MatmulCase& matmul) {
  const Fusing& fusing = matmul.fusing;
  return out << matmul.gemm << " activation=" << fusing.activation << " gate=" << fusing.gate
             << " bias=" << int(fusing.bias) << ' ' << name(fusing.bias_type)
             << " scales=" << fusing.row_scale << fusing.column_scale << " aux=" << fusing.aux
             << ' ' << name(fusing.aux_type) << '+' << fusing.aux_displacement << ','
             << fusing.aux_extra << " c=" << (fusing.c_apart ? name(fusing.c) : "d")
             << (fusing.c_in_rows ? " rows" : "") << '+' << fusing.c_displacement
             << (fusing.pointer_array ? " pointers" : "");
}

MatmulOperands::MatmulOperands(const MatmulCase& matmul) : matmul_(matmul), products_(matmul.gemm) {
  const GemmCase& gemm = matmul_.gemm;
  const Fusing& fusing = matmul_.fusing;
  const auto padded = [&](std::int64_t rows, std::int64_t extra) {
    return (rows + extra + gemm.ld_multiple - 1) / gemm.ld_multiple * gemm.ld_multiple;
  };
  const std::uint64_t seed = 100 * gemm.seed;
  const std::int64_t ldd = padded(d_rows(matmul_), gemm.ldc_extra);
  d_ = Matrix(gemm.output, d_rows(matmul_), gemm.n, ldd, gemm.batch,
              ldd * gemm.n + gemm.stride_extra);
  const bool reads_d = gemm.beta != 0 && !fusing.c_apart;
  if (reads_d) fill_matrix(d_, Fill::normal, seed + 1);
  device_d_ = on_device(d_, gemm.c_displacement);
  if (fusing.c_apart) {
    const std::int64_t lines = fusing.c_in_rows ? gemm.m : gemm.n;
    const std::int64_t length = fusing.c_in_rows ? gemm.n : gemm.m;
    const std::int64_t ldc = padded(length, 2 * gemm.ldc_extra);
    c_ = Matrix(fusing.c, length, lines, ldc, gemm.batch, ldc * lines);
    fill_matrix(c_, gemm.beta != 0 ? Fill::normal : Fill::poison, seed + 1);
    device_c_ = on_device(c_, fusing.c_displacement);
  }
  if (fusing.bias != Bias::none)
    bias_ = vector_of(fusing.bias_type, fusing.bias == Bias::along_m ? gemm.m : gemm.n, gemm.batch,
                      seed + 2);
  if (fusing.row_scale) row_scale_ = vector_of(Dtype::f32, gemm.m, gemm.batch, seed + 3);
  if (fusing.column_scale) column_scale_ = vector_of(Dtype::f32, gemm.n, gemm.batch, seed + 4);
  device_bias_ = on_device(bias_, 1);
  device_row_scale_ = on_device(row_scale_, 1);
  device_column_scale_ = on_device(column_scale_, 3);
  if (fusing.aux != BWGEMM_AUX_NONE) {
    const std::int64_t lda = padded(gemm.m, fusing.aux_extra);
    aux_ = Matrix(fusing.aux_type, gemm.m, gemm.n, lda, gemm.batch, lda * gemm.n);
    if (fusing.aux == BWGEMM_AUX_DERIVATIVE) fill_matrix(aux_, Fill::normal, seed + 5);
    device_aux_ = on_device(aux_, fusing.aux_displacement);
  }
  if (!fusing.pointer_array) return;
  std::vector<std::uint64_t> all;
  const auto add = [&](void* base, Dtype type, std::int64_t stride) {
    for (std::int64_t batch = 0; batch < gemm.batch; ++batch)
      all.push_back(reinterpret_cast<std::uint64_t>(base) +
                    static_cast<std::uint64_t>(batch * stride * size_bytes(type)));
  };
  add(products_.a_pointer(), gemm.input, gemm.repeat_a ? 0 : products_.a().stride());
  add(products_.b_pointer(), gemm.input, gemm.repeat_b ? 0 : products_.b().stride());
  add(device_d_->pointer(), gemm.output, d_.stride());
  if (fusing.c_apart) add(device_c_->pointer(), fusing.c, c_.stride());
  pointers_ = std::make_unique<DeviceMemory>(8 * all.size());
  check(driver().memcpy_htod(pointers_->address(), all.data(), 8 * all.size()), "cuMemcpyHtoD");
  synchronize();
}

bwgemmStatus_t MatmulOperands::call(bwgemmHandle_t handle) const {
  return call(handle, &matmul_.gemm.alpha, &matmul_.gemm.beta);
}

bwgemmStatus_t MatmulOperands::call(bwgemmHandle_t handle, const void* alpha,
                                    const void* beta) const {
  const GemmCase& gemm = matmul_.gemm;
  const Fusing& fusing = matmul_.fusing;
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = gemm.transa, desc.transb = gemm.transb;
  desc.m = gemm.m, desc.n = gemm.n, desc.k = gemm.k;
  desc.Atype = desc.Btype = c_type(gemm.input);
  desc.Dtype = desc.Ctype = c_type(gemm.output);
  desc.lda = products_.a().ld(), desc.ldb = products_.b().ld(), desc.ldd = desc.ldc = d_.ld();
  desc.batchCount = gemm.batch;
  desc.strideA = gemm.repeat_a ? 0 : products_.a().stride();
  desc.strideB = gemm.repeat_b ? 0 : products_.b().stride();
  desc.strideD = desc.strideC = d_.stride();
  if (fusing.c_apart) {
    desc.Ctype = c_type(fusing.c);
    desc.Corder = fusing.c_in_rows ? BWGEMM_ORDER_ROW : BWGEMM_ORDER_COL;
    desc.ldc = c_.ld(), desc.strideC = c_.stride();
  }
  desc.activation = fusing.activation;
  desc.gate = fusing.gate;
  desc.biasDim = fusing.bias == Bias::along_n ? BWGEMM_DIM_N : BWGEMM_DIM_M;
  desc.biasType = c_type(fusing.bias_type);
  desc.bias = pointer(device_bias_), desc.strideBias = bias_.stride();
  desc.rowScale = static_cast<float*>(pointer(device_row_scale_));
  desc.strideRowScale = row_scale_.stride();
  desc.columnScale = static_cast<float*>(pointer(device_column_scale_));
  desc.strideColumnScale = column_scale_.stride();
  desc.auxMode = fusing.aux;
  desc.auxType = c_type(fusing.aux_type);
  desc.aux = pointer(device_aux_), desc.ldaux = aux_.ld(), desc.strideAux = aux_.stride();
  if (fusing.aux == BWGEMM_AUX_NONE) desc.ldaux = 0;
  const void *a = products_.a_pointer(), *b = products_.b_pointer();
  void* d = device_d_->pointer();
  const void* c = fusing.c_apart ? device_c_->pointer() : gemm.beta != 0 ? d : nullptr;
  if (fusing.pointer_array) {
    desc.batchMode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
    const auto array = [&](std::int64_t i) { return pointers_->as<char>() + 8 * i * gemm.batch; };
    a = array(0), b = array(1), d = array(2);
    c = fusing.c_apart ? array(3) : gemm.beta != 0 ? d : nullptr;
  }
  return bwgemmMatmul(handle, &desc, alpha, a, b, beta, c, d);
}

void MatmulOperands::restore() {
  device_d_->upload();
  if (device_aux_ != nullptr) device_aux_->upload();
}

// x, and how far it may be off.
MatmulOperands::Value MatmulOperands::linear(std::int64_t row, std::int64_t column,
                                             std::int64_t batch, double sum,
                                             double magnitude) const {
  const GemmCase& gemm = matmul_.gemm;
  const Fusing& fusing = matmul_.fusing;
  const bool is_exact = gemm.fill == Fill::integers;
  const double terms = static_cast<double>(gemm.k + 16);
  Value x{gemm.alpha * sum, is_exact ? 0 : std::fabs(gemm.alpha) * terms * ulp * magnitude};
  const auto multiply = [&](double by) {
    x = {x.value * by, x.error * std::fabs(by) + std::fabs(x.value * by) * ulp};
  };
  const auto add = [&](double term) {
    x.error += (std::fabs(x.value) + std::fabs(term)) * ulp;
    x.value += term;
  };
  multiply(1);
  if (fusing.row_scale) multiply(row_scale_.get(row, 0, batch));
  if (fusing.column_scale) multiply(column_scale_.get(column, 0, batch));
  if (gemm.beta != 0) {
    const double c = !fusing.c_apart    ? d_.get(row, column, batch)
                     : fusing.c_in_rows ? c_.get(column, row, batch)
                                        : c_.get(row, column, batch);
    add(gemm.beta * c);
  }
  if (fusing.bias != Bias::none)
    add(bias_.get(fusing.bias == Bias::along_m ? row : column, 0, batch));
  x.error += 0x1p-126 * terms;
  return x;
}

MatmulOperands::Value MatmulOperands::expected(std::int64_t row, std::int64_t column,
                                               std::int64_t batch, const Product& product) const {
  const Fusing& fusing = matmul_.fusing;
  const std::int64_t m = matmul_.gemm.m;
  const auto at = [&](std::int64_t i) {
    const std::size_t index =
        product.index(static_cast<std::size_t>(i), static_cast<std::size_t>(column));
    return linear(i, column, batch, product.sum[index], product.magnitude[index]);
  };
  const bool is_interleaved = fusing.gate == BWGEMM_GATE_INTERLEAVED;
  const Value x = at(is_interleaved ? 2 * row : row);
  if (fusing.aux == BWGEMM_AUX_DERIVATIVE) {
    const double slope = curve(fusing.activation, aux_.get(row, column, batch)).slope;
    const bool is_exact = fusing.activation == BWGEMM_ACTIVATION_RELU;
    return {x.value * slope,
            x.error * std::fabs(slope) + std::fabs(x.value) * (is_exact ? ulp : 2 * curve_error)};
  }
  constexpr double steepest = 1.13;
  Value y{curve(fusing.activation, x.value).value, steepest * x.error};
  if (fusing.activation > BWGEMM_ACTIVATION_RELU)
    y.error += std::fabs(y.value) * curve_error + 0x1p-120;
  if (fusing.gate == BWGEMM_GATE_NONE) return y;
  const Value by = at(is_interleaved ? 2 * row + 1 : row + m / 2);
  return {y.value * by.value, std::fabs(y.value) * by.error + std::fabs(by.value) * y.error +
                                  y.error * by.error + std::fabs(y.value * by.value) * ulp};
}

bool MatmulOperands::is_close(const Matrix& matrix, std::int64_t row, std::int64_t column,
                              std::int64_t batch, const Value& expected) const {
  const double got = matrix.get(row, column, batch);
  const double largest = std::fabs(expected.value) + expected.error;
  return std::fabs(got - expected.value) <=
         expected.error + rounding(matrix.type(), largest);  // false for NaN
}

void MatmulOperands::expect_batch(std::int64_t batch, const Product& product) const {
  int wrong = 0;
  const auto expect = [&](const char* what, const Matrix& matrix, std::int64_t row,
                          std::int64_t column, const Value& value) {
    if (is_close(matrix, row, column, batch, value) || ++wrong > 3) return;
    ADD_FAILURE() << matmul_ << ": " << what << ", batch " << batch << ", row " << row
                  << ", column " << column << ": " << matrix.get(row, column, batch) << " is not "
                  << value.value << " +- " << value.error;
  };
  for (std::int64_t column = 0; column < matmul_.gemm.n; ++column) {
    for (std::int64_t row = 0; row < d_.rows(); ++row)
      expect("D", d_after_, row, column, expected(row, column, batch, product));
    if (matmul_.fusing.aux != BWGEMM_AUX_STORE) continue;
    for (std::int64_t row = 0; row < matmul_.gemm.m; ++row) {
      const std::size_t at =
          product.index(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
      expect("aux", aux_after_, row, column,
             linear(row, column, batch, product.sum[at], product.magnitude[at]));
    }
  }
  EXPECT_EQ(wrong, 0) << "elements are wrong: " << matmul_;
}

void MatmulOperands::expect_result() {
  const GemmCase& gemm = matmul_.gemm;
  d_after_ = device_d_->download();
  EXPECT_EQ(device_d_->damage(), "") << matmul_;
  if (device_aux_ != nullptr) {
    aux_after_ = device_aux_->download();
    if (matmul_.fusing.aux == BWGEMM_AUX_STORE)
      EXPECT_EQ(device_aux_->damage(), "") << "aux: " << matmul_;
    else
      EXPECT_TRUE(device_aux_->untouched()) << "aux was written: " << matmul_;
  }
  for (const auto& buffer : {&device_c_, &device_bias_, &device_row_scale_, &device_column_scale_})
    if (*buffer != nullptr) {
      (*buffer)->download();
      EXPECT_TRUE((*buffer)->untouched()) << "an input was written: " << matmul_;
    }
  for (std::int64_t batch = 0; batch < gemm.batch; ++batch) {
    const Operand a{&products_.a(), gemm.transa != BWGEMM_OP_N, gemm.repeat_a ? 0 : batch};
    const Operand b{&products_.b(), gemm.transb != BWGEMM_OP_N, gemm.repeat_b ? 0 : batch};
    std::vector<std::int64_t> rows(static_cast<std::size_t>(gemm.m)),
        columns(static_cast<std::size_t>(gemm.n));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<std::int64_t>(i);
    expect_batch(batch, product(a, b, rows, columns));
  }
}

}  // namespace bwgemm::test
