// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <array>

#include "call.h"
#include "torch.h"

namespace bwgemm_python {
namespace {

enum Argument {
  kA,
  kB,
  kTransA,
  kTransB,
  kAlpha,
  kBeta,
  kC,
  kBias,
  kActivation,
  kGate,
  kAux,
  kAuxMode,
  kBiasGradient,
  kBiasGradientOf,
  kOut,
  kOutType,
  kStream,
  kCare,
  kRank,
  kArguments
};

class Arguments {
 public:
  explicit Arguments(PyObject* tuple) : tuple_(tuple) {
    if (PyTuple_Size(tuple) == kArguments) return;
    PyErr_SetString(PyExc_TypeError, "product() takes 19 arguments");
    throw PythonError{};
  }

  PyObject* operator[](Argument index) const { return PyTuple_GetItem(tuple_, index); }
  bool has(Argument index) const { return (*this)[index] != Py_None; }

  std::int32_t number(Argument index) const {
    return static_cast<std::int32_t>(checked(PyLong_AsLong((*this)[index])));
  }
  float scalar(Argument index) const {
    return static_cast<float>(checked(PyFloat_AsDouble((*this)[index])));
  }
  bool flag(Argument index) const { return checked(PyObject_IsTrue((*this)[index])) != 0; }

 private:
  template <class Number>
  static Number checked(Number value) {
    if (value == Number(-1) && PyErr_Occurred() != nullptr) throw PythonError{};
    return value;
  }

  PyObject* tuple_;
};

constexpr std::array kTensors = {kA, kB, kC, kBias, kAux, kBiasGradient, kOut};

// The tensors of a call, and the matrices that they are. A function that returns false found
// something that is not served here.
class Product {
 public:
  // Scalars come first: Python code of theirs may do anything.
  Product(const Arguments& arguments, const Torch& torch) : arguments_(arguments), torch_(torch) {
    call_.alpha = arguments.scalar(kAlpha);
    call_.beta = arguments.scalar(kBeta);
  }

  bool describe(Care care);
  bool fit();
  Ref result();  // a new one if none was given
  bool set_result(PyObject* out);
  bool set_fused();
  bool is_apart() const;
  const Call& call() const { return call_; }

 private:
  bool fit_rank();
  bool fit_matrices();
  bool set_stream();
  bool set_bias();
  bool set_aux();
  bool set_residual();
  bool set_bias_gradient();
  bool is_read_or_apart(const Matrix& written) const;

  const Operand& operand(Argument index) const { return operands_[index]; }
  bool is_gated() const { return call_.desc.gate != BWGEMM_GATE_NONE; }
  bool is_served(std::int32_t type) const { return type == a_.type || type == BWGEMM_R_32F; }

  const Arguments& arguments_;
  const Torch& torch_;
  Call call_;
  std::array<Operand, kArguments> operands_;
  Matrix a_, b_, d_;
  std::optional<Matrix> c_, bias_, aux_, gradient_;
};

bool Product::describe(Care care) {
  for (const Argument index : kTensors) {
    if (!arguments_.has(index)) continue;
    PyObject* tensor = arguments_[index];
    Operand& seen = operands_[index];
    if (!torch_.is_tensor(tensor, care) || !torch_.is_plain(tensor, care) ||
        !torch_.describe(tensor, seen) || seen.device != operands_[kA].device) {
      return false;
    }
    const bool may_be_negated = seen.type == BWGEMM_R_16F && care != Care::kNone;
    if (may_be_negated && torch_.is_negated(tensor)) return false;
  }
  return true;
}

bool Product::fit_matrices() {
  const auto a = matrix_of(operand(kA), arguments_.flag(kTransA));
  const auto b = matrix_of(operand(kB), arguments_.flag(kTransB));
  if (!a || !b || a->columns != b->rows || a->type != b->type || a->type == BWGEMM_R_32F ||
      (a->batch != b->batch && a->batch != 1 && b->batch != 1)) {
    return false;
  }
  a_ = *a;
  b_ = *b;
  return true;
}

bool Product::set_stream() {
  call_.device = operand(kA).device;
  call_.stream = torch_.current_stream(call_.device);
  if (!arguments_.has(kStream)) return true;
  void* given = PyLong_AsVoidPtr(arguments_[kStream]);
  if (PyErr_Occurred() == nullptr) return given == call_.stream;
  PyErr_Clear();  // a stream object, or none
  return false;
}

// Whether a and b have as many dimensions as the call says, if it does, and then batches as large.
bool Product::fit_rank() {
  const std::int32_t rank = arguments_.number(kRank);
  const Operand &a = operand(kA), &b = operand(kB);
  return rank == 0 ||
         (a.dimensions == rank && b.dimensions == rank && (rank == 2 || a.shape[0] == b.shape[0]));
}

bool Product::fit() {
  if (!fit_rank() || !fit_matrices() || !set_stream()) return false;
  bwgemmMatmulDesc_t& desc = call_.desc;
  desc.m = a_.rows;
  desc.n = b_.columns;
  desc.k = a_.columns;
  desc.batchCount = a_.batch == 1 ? b_.batch : a_.batch;
  desc.activation = arguments_.number(kActivation);
  desc.gate = arguments_.number(kGate);
  set_a(call_, a_);
  set_b(call_, b_);
  if (arguments_.has(kOutType) && !is_served(arguments_.number(kOutType))) return false;
  if (call_.beta != 0 && !arguments_.has(kC) && !arguments_.has(kOut)) return false;
  return !is_gated() || desc.n % 2 == 0;
}

Ref Product::result() {
  if (arguments_.has(kOut)) return Ref(new_reference(arguments_[kOut]));
  const bwgemmMatmulDesc_t& desc = call_.desc;
  const bool is_batched = operand(kA).dimensions == 3 || operand(kB).dimensions == 3;
  const std::int64_t shape[3] = {desc.batchCount, desc.m, is_gated() ? desc.n / 2 : desc.n};
  const std::int32_t type = arguments_.has(kOutType) ? arguments_.number(kOutType) : a_.type;
  return torch_.empty(arguments_[kA], call_.device, is_batched ? 3 : 2,
                      is_batched ? shape : shape + 1, type);
}

bool Product::set_result(PyObject* out) {
  Operand seen;
  if (!torch_.describe(out, seen)) return false;
  const auto matrix = matrix_of(seen, false);
  const bwgemmMatmulDesc_t& desc = call_.desc;
  if (!matrix || matrix->rows != desc.m || matrix->batch != desc.batchCount ||
      matrix->columns != (is_gated() ? desc.n / 2 : desc.n) || !is_served(matrix->type) ||
      (is_gated() && !matrix->is_row_order) ||
      (arguments_.has(kOutType) && arguments_.number(kOutType) != matrix->type)) {
    return false;
  }
  d_ = *matrix;
  set_d(call_, d_);
  set_c(call_, d_);
  return true;
}

bool Product::set_bias() {
  const Operand& seen = operand(kBias);
  if (!is_vector(seen, call_.desc.n) || !is_served(seen.type)) return false;
  call_.desc.bias = reinterpret_cast<const void*>(seen.pointer);
  call_.desc.biasType = seen.type;
  call_.desc.biasDim = BWGEMM_DIM_N;
  bias_ = Matrix{seen.pointer, seen.type, 1, call_.desc.n, call_.desc.n, true, 1, 0};
  return true;
}

bool Product::set_residual() {
  c_ = matrix_of(operand(kC), false);
  if (!c_ || c_->rows != d_.rows || c_->columns != d_.columns || !is_served(c_->type) ||
      (c_->batch != 1 && c_->batch != d_.batch) || is_gated()) {
    return false;
  }
  set_c(call_, *c_);
  return true;
}

bool Product::set_aux() {
  aux_ = matrix_of(operand(kAux), false);
  bwgemmMatmulDesc_t& desc = call_.desc;
  if (!aux_ || aux_->rows != desc.m || aux_->columns != desc.n || !is_served(aux_->type) ||
      aux_->batch != desc.batchCount || aux_->is_row_order != d_.is_row_order) {
    return false;
  }
  desc.auxMode = arguments_.number(kAuxMode);
  desc.aux = reinterpret_cast<void*>(aux_->pointer);
  desc.auxType = aux_->type;
  desc.ldaux = aux_->ld;
  desc.strideAux = aux_->stride;
  return true;
}

bool Product::set_bias_gradient() {
  const Operand& seen = operand(kBiasGradient);
  bwgemmMatmulDesc_t& desc = call_.desc;
  const std::int32_t of = arguments_.number(kBiasGradientOf);
  const std::int64_t size = of == BWGEMM_BIAS_GRADIENT_D_COLUMNS ? d_.columns
                            : of == BWGEMM_BIAS_GRADIENT_B       ? desc.n
                                                                 : desc.m;
  if (desc.batchCount != 1 || !is_vector(seen, size) || !is_served(seen.type)) return false;
  desc.biasGradientOf = of;
  desc.biasGradient = reinterpret_cast<void*>(seen.pointer);
  desc.biasGradientType = seen.type;
  gradient_ = Matrix{seen.pointer, seen.type, 1, size, size, true, 1, 0};
  return true;
}

bool Product::set_fused() {
  return (!arguments_.has(kBias) || set_bias()) && (!arguments_.has(kC) || set_residual()) &&
         (!arguments_.has(kAux) || set_aux()) &&
         (!arguments_.has(kBiasGradient) || set_bias_gradient());
}

bool Product::is_read_or_apart(const Matrix& written) const {
  using bwgemm_python::is_apart;
  for (const Matrix* other : {&a_, &b_, bias_ ? &*bias_ : nullptr, aux_ ? &*aux_ : nullptr}) {
    if (other != nullptr && !is_apart(written, *other)) return false;
  }
  return !c_ || is_apart(written, *c_);
}

// Only of what the caller gave to be written: what is made here is apart from all.
bool Product::is_apart() const {
  const bool is_given = arguments_.has(kOut);
  if (is_given && !(is_apart_from_itself(d_) && is_read_or_apart(d_))) return false;
  if (!gradient_) return true;
  return is_read_or_apart(*gradient_) && bwgemm_python::is_apart(*gradient_, d_);
}

}  // namespace

PyObject* product(PyObject* tuple) {
  const Arguments arguments(tuple);
  const Torch* torch = Torch::imported();
  const auto care = static_cast<Care>(arguments.number(kCare));
  if (torch == nullptr || !torch->is_tensor(arguments[kA], care)) return none();
  if (care == Care::kModes && torch->has_mode()) return none();
  Product product(arguments, *torch);
  if (!product.describe(care) || !product.fit()) return none();
  Ref out = product.result();
  if (!product.set_result(out.get()) || !product.set_fused() || !product.is_apart()) return none();
  multiply(product.call());
  return out.release();
}

PyObject* is_eager(PyObject* tuple) {
  const Torch* torch = Torch::imported();
  bool result = torch != nullptr && !torch->has_mode();
  for (Py_ssize_t i = 0; result && i < PyTuple_Size(tuple); ++i) {
    PyObject* tensor = PyTuple_GetItem(tuple, i);
    result = tensor == Py_None || torch->is_tensor(tensor, Care::kModes);
  }
  return PyBool_FromLong(result);
}

}  // namespace bwgemm_python
