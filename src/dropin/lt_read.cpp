// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_read.h"

#include "dropin/epilogue.h"

namespace bwgemm::dropin {
namespace {

// Attributes of one object. Once one cannot be read, is_good() is false.
template <class Object, class Attribute>
class Reader {
 public:
  using Get = cublasStatus_t (*)(Object, Attribute, void*, std::size_t, std::size_t*);

  Reader(Get get, Object object) : get_(get), object_(object) {}

  template <class Value>
  void read(Attribute attribute, Value& value) {
    std::size_t written = 0;
    if (get_(object_, attribute, &value, sizeof value, &written) != CUBLAS_STATUS_SUCCESS)
      is_good_ = false;
  }
  // Whether all that is in the list is as in new objects.
  template <std::size_t capacity>
  bool has_defaults(const LtDefaultList<capacity>& list) const {
    for (const LtDefault& expected : list) {
      std::uint64_t value = 0;
      std::size_t written = 0;
      if (get_(object_, static_cast<Attribute>(expected.attribute), &value, expected.size,
               &written) != CUBLAS_STATUS_SUCCESS ||
          value != expected.value)
        return false;
    }
    return true;
  }
  bool is_good() const { return is_good_; }

 private:
  Get get_;
  Object object_;
  bool is_good_ = true;
};

using Desc = Reader<cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t>;
using Layout = Reader<cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t>;

struct Matrix {
  std::uint64_t rows = 0, columns = 0;
  std::int32_t batch = 1;
  bool is_plain = false;  // nothing is unknown here
};

bool has_objects(const LtArguments& from) {
  return from.desc != nullptr && from.a_layout != nullptr && from.b_layout != nullptr &&
         from.c_layout != nullptr && from.d_layout != nullptr;
}

bool read_types(const LtArguments& from, const LtGetters& getters, Call& call) {
  Desc desc(getters.desc, from.desc);
  desc.read(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, call.compute);
  bool is_good = desc.is_good();
  const auto type = [&](cublasLtMatrixLayout_t of, int& found) {
    Layout layout(getters.layout, of);
    layout.read(CUBLASLT_MATRIX_LAYOUT_TYPE, found);
    is_good = is_good && layout.is_good();
  };
  type(from.a_layout, call.a.type);
  type(from.b_layout, call.b.type);
  type(from.c_layout, call.c.type);
  type(from.d_layout, call.d->type);
  return is_good;
}

// All but the type. False if it cannot be read.
bool read_matrix(const Cublas& cublas, cublasLtMatrixLayout_t from, Operand& operand,
                 Matrix& matrix) {
  Layout layout(cublas.lt_getters.layout, from);
  layout.read(CUBLASLT_MATRIX_LAYOUT_ORDER, operand.order);
  layout.read(CUBLASLT_MATRIX_LAYOUT_ROWS, matrix.rows);
  layout.read(CUBLASLT_MATRIX_LAYOUT_COLS, matrix.columns);
  layout.read(CUBLASLT_MATRIX_LAYOUT_LD, operand.ld);
  layout.read(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrix.batch);
  if (matrix.batch != 1) layout.read(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.stride);
  matrix.is_plain = layout.has_defaults(cublas.lt_defaults.layout) &&
                    (operand.order == CUBLASLT_ORDER_COL || operand.order == CUBLASLT_ORDER_ROW);
  return layout.is_good();
}

// Sets the sizes of the product. Reason::layout if the matrices do not fit each other.
Reason set_sizes(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, Call& call) {
  const bool ta = call.transa != CUBLAS_OP_N, tb = call.transb != CUBLAS_OP_N;
  call.m = static_cast<std::int64_t>(d.rows);
  call.n = static_cast<std::int64_t>(d.columns);
  call.k = static_cast<std::int64_t>(ta ? a.rows : a.columns);
  call.batch = d.batch;
  const bool fits = (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
                    (tb ? b.columns : b.rows) == static_cast<std::uint64_t>(call.k) &&
                    c.rows == d.rows && c.columns == d.columns && a.batch == d.batch &&
                    b.batch == d.batch && c.batch == d.batch;
  const bool is_plain = a.is_plain && b.is_plain && c.is_plain && d.is_plain;
  return fits && is_plain ? Reason::none : Reason::layout;
}

Reason read_matrices(const LtArguments& from, const Cublas& cublas, Call& call) {
  Matrix a, b, c, d;
  bool is_good = read_matrix(cublas, from.a_layout, call.a, a) &&
                 read_matrix(cublas, from.b_layout, call.b, b) &&
                 read_matrix(cublas, from.d_layout, *call.d, d);
  if (from.c_layout == from.d_layout) {
    c = d;
    call.c.ld = call.d->ld;
    call.c.stride = call.d->stride;
    call.c.order = call.d->order;
  } else {
    is_good = is_good && read_matrix(cublas, from.c_layout, call.c, c);
  }
  return is_good ? set_sizes(a, b, c, d, call) : Reason::descriptor;
}

// What is not said takes the type of D.
int type_or(int type, const Call& call) {
  return type == -1 ? call.output().type : type;
}

void read_epilogue(Desc& desc, Call& call) {
  Epilogue& epilogue = call.epilogue;
  const EpilogueForm* const form = form_of(epilogue.kind);
  if (form == nullptr) return;
  if (form->uses_bias_pointer()) {
    desc.read(CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias);
    desc.read(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, epilogue.bias_type);
    epilogue.bias_type = type_or(epilogue.bias_type, call);
    if (call.batch != 1) desc.read(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, epilogue.bias_stride);
  }
  if (form->aux_mode == BWGEMM_AUX_NONE) return;
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, epilogue.aux);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, epilogue.aux_type);
  epilogue.aux_type = type_or(epilogue.aux_type, call);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, epilogue.aux_ld);
  if (call.batch != 1)
    desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, epilogue.aux_stride);
}

// An algorithm that does not divide k gets no workspace, without which bwgemm does not divide it
// through memory either.
bool may_split(const LtArguments& from, const Cublas& cublas) {
  if (from.algo == nullptr || cublas.lt_algo_config_get_attribute == nullptr) return true;
  std::int32_t splits = 0;
  std::size_t written = 0;
  const cublasStatus_t status = cublas.lt_algo_config_get_attribute(
      from.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits, &written);
  return status == CUBLAS_STATUS_SUCCESS && splits > 1;
}

Reason read_desc(const LtArguments& from, const Cublas& cublas, LtCall& read) {
  Call& call = read.call;
  Desc desc(cublas.lt_getters.desc, from.desc);
  int scale_type = 0;
  desc.read(CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale_type);
  desc.read(CUBLASLT_MATMUL_DESC_POINTER_MODE, read.settings.pointer_mode);
  desc.read(CUBLASLT_MATMUL_DESC_TRANSA, call.transa);
  desc.read(CUBLASLT_MATMUL_DESC_TRANSB, call.transb);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue.kind);
  desc.read(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, read.settings.sm_count_target);
  const Reason reason = read_matrices(from, cublas, call);
  read_epilogue(desc, call);
  if (!desc.is_good() || !desc.has_defaults(cublas.lt_defaults.desc)) return Reason::descriptor;
  if (scale_type != (call.has_half_scalars() ? CUDA_R_16F : CUDA_R_32F))
    return Reason::compute_type;
  return reason;
}

}  // namespace

Reason read_call(const LtArguments& arguments, const Cublas& cublas, bool reads_all, LtCall& read) {
  Call& call = read.call;
  call = Call{Entry::lt_matmul,
              reinterpret_cast<cublasHandle_t>(arguments.handle),
              0,
              0,
              0,
              0,
              0,
              arguments.alpha,
              arguments.beta,
              {arguments.A, 0, 0, 0},
              {arguments.B, 0, 0, 0},
              {arguments.C, 0, 0, 0},
              0,
              0,
              CUBLAS_GEMM_DEFAULT,
              Operand{arguments.D, 0, 0, 0}};
  read.settings = CallSettings{arguments.stream, 0, 0, 0, nullptr, 0};
  if (!has_objects(arguments) || !cublas.lt_defaults.are_known) return Reason::descriptor;
  if (!read_types(arguments, cublas.lt_getters, call)) return Reason::descriptor;
  const Reason types = why_types(call);
  if (types != Reason::none && !reads_all) return types;
  const Reason rest = read_desc(arguments, cublas, read);
  if (may_split(arguments, cublas)) {
    read.settings.workspace = arguments.workspace;
    read.settings.workspace_size = arguments.workspace_size;
  }
  return types != Reason::none ? types : rest;
}

}  // namespace bwgemm::dropin
