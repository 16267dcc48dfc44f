// SPDX-License-Identifier: Apache-2.0
#include "support/matmul_case.h"

#include "support/in_blocks.h"

namespace bwgemm::test {
namespace {

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
  const Arguments of = arguments();
  return bwgemmMatmul(handle, &of.desc, alpha, of.a, of.b, beta, of.c, of.d);
}

std::string MatmulOperands::kernel(bwgemmHandle_t handle) const {
  const Arguments of = arguments();
  std::string text(1 << 16, '\0');
  if (bwgemmMatmulExplain(handle, &of.desc, &matmul_.gemm.alpha, of.a, of.b, &matmul_.gemm.beta,
                          of.c, of.d, text.data(), text.size()) != BWGEMM_STATUS_SUCCESS)
    return bwgemmGetLastErrorString();
  constexpr std::string_view label = "\nkernel     ";
  const std::size_t found = text.find(label);
  if (found == std::string::npos) return text.c_str();
  const std::size_t begin = found + label.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

MatmulOperands::Arguments MatmulOperands::arguments() const {
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
  if (fusing.activation == BWGEMM_ACTIVATION_CLAMP)
    desc.clampLow = ClampBounds{}.low, desc.clampHigh = ClampBounds{}.high;
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
  return {desc, a, b, c, d};
}

void MatmulOperands::restore() {
  device_d_->upload();
  if (device_aux_ != nullptr) device_aux_->upload();
}

Terms MatmulOperands::terms(std::int64_t row, std::int64_t column, std::int64_t batch) const {
  const GemmCase& gemm = matmul_.gemm;
  const Fusing& fusing = matmul_.fusing;
  Terms terms{.k = gemm.k, .alpha = gemm.alpha, .beta = gemm.beta};
  if (fusing.row_scale) terms.row_scale = row_scale_.get(row, 0, batch);
  if (fusing.column_scale) terms.column_scale = column_scale_.get(column, 0, batch);
  if (gemm.beta != 0)
    terms.c = !fusing.c_apart    ? d_.get(row, column, batch)
              : fusing.c_in_rows ? c_.get(column, row, batch)
                                 : c_.get(row, column, batch);
  if (fusing.bias != Bias::none)
    terms.bias = bias_.get(fusing.bias == Bias::along_m ? row : column, 0, batch);
  return terms;
}

// Of the product, before its activation.
Value MatmulOperands::before(std::int64_t row, std::int64_t column, std::int64_t batch,
                             const Product& product) const {
  const std::size_t at =
      product.index(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
  const bool is_exact = matmul_.gemm.fill == Fill::integers;
  return linear(terms(row, column, batch), product.sum[at], is_exact ? 0 : product.magnitude[at]);
}

Value MatmulOperands::expected(std::int64_t row, std::int64_t column, std::int64_t batch,
                               const Product& product) const {
  const Fusing& fusing = matmul_.fusing;
  const bool is_interleaved = fusing.gate == BWGEMM_GATE_INTERLEAVED;
  const Value x = before(is_interleaved ? 2 * row : row, column, batch, product);
  if (fusing.aux == BWGEMM_AUX_DERIVATIVE)
    return differentiated(fusing.activation, x, aux_.get(row, column, batch));
  if (fusing.gate == BWGEMM_GATE_NONE) return activated(fusing.activation, x);
  const std::int64_t other = is_interleaved ? 2 * row + 1 : row + matmul_.gemm.m / 2;
  return gated(fusing.activation, x, before(other, column, batch, product));
}

void MatmulOperands::expect_batch(std::int64_t batch, const Product& product) const {
  int wrong = 0;
  const auto expect = [&](const char* what, const Matrix& matrix, std::int64_t row,
                          std::int64_t column, const Value& value) {
    if (is_close(matrix.get(row, column, batch), value, matrix.type()) || ++wrong > 3) return;
    ADD_FAILURE() << matmul_ << ": " << what << ", batch " << batch << ", row " << row
                  << ", column " << column << ": " << matrix.get(row, column, batch) << " is not "
                  << value.value << " +- " << value.error;
  };
  for_each_in_blocks(d_.rows(), matmul_.gemm.n, [&](std::int64_t row, std::int64_t column) {
    expect("D", d_after_, row, column, expected(row, column, batch, product));
  });
  if (matmul_.fusing.aux == BWGEMM_AUX_STORE)
    for_each_in_blocks(matmul_.gemm.m, matmul_.gemm.n, [&](std::int64_t row, std::int64_t column) {
      expect("aux", aux_after_, row, column, before(row, column, batch, product));
    });
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
    const std::shared_ptr<const Product> product = shared_product(gemm, a, b);
    const bool is_whole = product->sum.size() == static_cast<std::size_t>(gemm.m * gemm.n);
    expect_batch(batch, is_whole ? *product : whole_product(a, b));
  }
}

}  // namespace bwgemm::test
