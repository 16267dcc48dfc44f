// SPDX-License-Identifier: Apache-2.0
#include "torch.h"

#include "bwgemm/types.h"

namespace bwgemm_python {
namespace {

PyObject* interned(const char* text) {
  return PyUnicode_InternFromString(text);
}

bool is_true(PyObject* object, PyObject* name) {
  const Ref value(PyObject_GetAttr(object, name));
  if (!value) PyErr_Clear();
  return value.get() != Py_False;
}

std::int32_t type_of(const DlpackTensor& tensor) {
  if (tensor.lanes != 1) return -1;
  if (tensor.code == kDlpackBfloat && tensor.bits == 16) return BWGEMM_R_16BF;
  if (tensor.code == kDlpackFloat && tensor.bits == 16) return BWGEMM_R_16F;
  if (tensor.code == kDlpackFloat && tensor.bits == 32) return BWGEMM_R_32F;
  return -1;
}

const DlpackExchange* exchange_of(const Ref& capsule) {
  if (!capsule) return nullptr;
  void* pointer = PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api");
  if (pointer == nullptr) PyErr_Clear();
  const auto* exchange = static_cast<const DlpackExchange*>(pointer);
  while (exchange != nullptr && exchange->major > 1) exchange = exchange->older;
  const bool is_usable =
      exchange != nullptr && exchange->major == 1 && exchange->tensor_of != nullptr;
  return is_usable ? exchange : nullptr;
}

}  // namespace

Ref attribute(PyObject* object, std::initializer_list<const char*> names) {
  Ref found(new_reference(object));
  for (const char* name : names) {
    found = Ref(PyObject_GetAttrString(found.get(), name));
    if (!found) {
      PyErr_Clear();
      break;
    }
  }
  return found;
}

Torch::Torch(PyObject* module)
    : module_(new_reference(module)),
      tensor_(attribute(module, {"Tensor"})),
      parameter_(attribute(module, {"nn", "Parameter"})),
      empty_strided_(attribute(module, {"empty_strided"})),
      float32_(attribute(module, {"float32"})),
      float16_(attribute(module, {"float16"})),
      bfloat16_(attribute(module, {"bfloat16"})),
      is_grad_enabled_(attribute(module, {"is_grad_enabled"})),
      is_autocast_enabled_(attribute(module, {"is_autocast_enabled"})),
      dispatch_modes_(attribute(module, {"_C", "_len_torch_dispatch_stack"})),
      functorch_level_(attribute(module, {"_C", "_functorch", "peek_interpreter_stack"})),
      trace_(attribute(module, {"_C", "_get_tracing_state"})),
      exchange_(exchange_of(attribute(module, {"Tensor", "__dlpack_c_exchange_api__"}))),
      allocator_(module) {}

Torch* Torch::imported() {
  static PyObject* const name = interned("torch");
  static Torch* cached = nullptr;
  PyObject* module = PyDict_GetItem(PyImport_GetModuleDict(), name);
  if (module == nullptr) return nullptr;
  if (cached == nullptr || cached->module_.get() != module) {
    auto* found = new Torch(module);
    const bool is_whole = found->exchange_ != nullptr && found->parameter_ &&
                          found->empty_strided_ && found->float32_ && found->float16_ &&
                          found->bfloat16_ && found->is_grad_enabled_ &&
                          found->is_autocast_enabled_ && found->dispatch_modes_ &&
                          found->functorch_level_ && found->trace_;
    if (!is_whole) {  // being imported, or too old
      delete found;
      return nullptr;
    }
    cached = found;  // the one before may be in use
  }
  return cached;
}

bool Torch::is_tensor(PyObject* object, Care care) const {
  PyTypeObject* const type = Py_TYPE(object);
  auto* const as_object = reinterpret_cast<PyObject*>(type);
  if (as_object == tensor_.get() || as_object == parameter_.get()) return true;
  return care == Care::kNone &&
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(tensor_.get())) != 0;
}

// Whether the function returns that object.
bool Torch::answers(const Ref& function, PyObject* nothing_in_force) const {
  const Ref answer(PyObject_CallObject(function.get(), nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == nothing_in_force;
}

bool Torch::is_plain(PyObject* tensor, Care care) const {
  static PyObject* const requires_grad = interned("requires_grad");
  return care == Care::kNone || !is_true(tensor, requires_grad) ||
         answers(is_grad_enabled_, Py_False);
}

bool Torch::is_negated(PyObject* tensor) const {
  static PyObject* const is_neg = interned("is_neg");
  const Ref answer(PyObject_CallMethodObjArgs(tensor, is_neg, nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() != Py_False;
}

bool Torch::has_mode() const {
  static PyObject* const zero = PyLong_FromLong(0);  // the only one, in CPython
  return !answers(is_autocast_enabled_, Py_False) || !answers(dispatch_modes_, zero) ||
         !answers(functorch_level_, Py_None) || !answers(trace_, Py_None);
}

bool Torch::describe(PyObject* tensor, Operand& operand) const {
  DlpackTensor seen;
  if (exchange_->tensor_of(tensor, &seen) != 0) {
    PyErr_Clear();
    return false;
  }
  operand.pointer = reinterpret_cast<std::uint64_t>(seen.data) + seen.byte_offset;
  operand.device = seen.device;
  operand.dimensions = seen.dimensions;
  operand.type = type_of(seen);
  if (seen.device_type != kDlpackCuda || operand.type < 0) return false;
  if (seen.dimensions < 1 || seen.dimensions > 3 || seen.strides == nullptr) return false;
  bool is_empty = false;
  for (int i = 0; i < seen.dimensions; ++i) {
    operand.shape[i] = seen.shape[i];
    operand.strides[i] = seen.strides[i];
    is_empty = is_empty || seen.shape[i] == 0;
  }
  return operand.pointer % bytes_of(operand.type) == 0 && (operand.pointer != 0 || is_empty);
}

void* Torch::current_stream(int device) const {
  void* stream = nullptr;
  if (exchange_->current_stream(kDlpackCuda, device, &stream) != 0) throw PythonError{};
  return stream;
}

namespace {

Ref tuple_of(int count, const std::int64_t* values) {
  Ref tuple = owned(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    PyTuple_SetItem(tuple.get(), i, owned(PyLong_FromLongLong(values[i])).release());
  }
  return tuple;
}

}  // namespace

Ref Torch::empty(PyObject* like, int device, int dimensions, const std::int64_t* shape,
                 std::int32_t type) const {
  static PyObject* const dtype_name = interned("dtype");
  static PyObject* const device_name = interned("device");
  std::int64_t strides[3] = {1, 1, 1};
  for (int i = dimensions - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * (shape[i] > 1 ? shape[i] : 1);
  }
  if (Ref made = allocator_.empty(device, dimensions, shape, strides, type)) return made;
  const Ref& dtype = type == BWGEMM_R_32F ? float32_ : type == BWGEMM_R_16F ? float16_ : bfloat16_;
  const Ref device_object = owned(PyObject_GetAttr(like, device_name));
  const Ref named = owned(PyDict_New());
  const Ref arguments = owned(PyTuple_New(2));
  PyTuple_SetItem(arguments.get(), 0, tuple_of(dimensions, shape).release());
  PyTuple_SetItem(arguments.get(), 1, tuple_of(dimensions, strides).release());
  if (PyDict_SetItem(named.get(), dtype_name, dtype.get()) != 0 ||
      PyDict_SetItem(named.get(), device_name, device_object.get()) != 0) {
    throw PythonError{};
  }
  return owned(PyObject_Call(empty_strided_.get(), arguments.get(), named.get()));
}

}  // namespace bwgemm_python
