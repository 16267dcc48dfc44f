// SPDX-License-Identifier: Apache-2.0
//
// bwgemm._native: what the package's Python code calls.
#include <cstddef>
#include <cstring>

#include "call.h"
#include "dlpack.h"
#include "driver.h"
#include "handles.h"
#include "library.h"
#include "python.h"
#include "tensors.h"

namespace bwgemm_python {
namespace {

PyObject* error_class = nullptr;

// Python's arguments by a format of PyArg_ParseTuple.
template <class... Targets>
void parse(PyObject* arguments, const char* format, Targets*... targets) {
  if (PyArg_ParseTuple(arguments, format, targets...) == 0) throw PythonError{};
}

PyObject* text_of(const char* text) {
  return PyUnicode_DecodeUTF8(text, std::strlen(text), "replace");
}

PyObject* open(PyObject* arguments) {
  const char* path;
  parse(arguments, "sO", &path, &error_class);
  Py_INCREF(error_class);
  const std::string reason = open_library(path);
  if (reason.empty()) return none();
  PyErr_SetString(PyExc_OSError, reason.c_str());
  throw PythonError{};
}

PyObject* version(PyObject*) {
  return PyLong_FromLong(library().get_version());
}

PyObject* build_info(PyObject*) {
  return text_of(library().get_build_info());
}

PyObject* status_name(PyObject* arguments) {
  int status;
  parse(arguments, "i", &status);
  return text_of(library().status_name(static_cast<bwgemmStatus_t>(status)));
}

PyObject* kernel_names(PyObject*) {
  const int count = library().kernel_count();
  Ref names = owned(PyList_New(count));
  for (int i = 0; i < count; ++i) {
    PyList_SetItem(names.get(), i, owned(text_of(library().kernel_name(i))).release());
  }
  return names.release();
}

// A scalar as the library will have it.
PyObject* rounded(PyObject* arguments) {
  float value;
  parse(arguments, "f", &value);
  return PyFloat_FromDouble(value);
}

PyObject* open_driver(PyObject*) {
  driver();
  return none();
}

PyObject* device_of_pointer(PyObject* arguments) {
  unsigned long long pointer;
  parse(arguments, "K", &pointer);
  return PyLong_FromLong(device_of(pointer));
}

PyObject* wait_for_stream(PyObject* arguments) {
  int device;
  unsigned long long stream, producer;
  parse(arguments, "iKK", &device, &stream, &producer);
  {
    const WithoutPython elsewhere;
    wait_for(device, reinterpret_cast<void*>(stream), reinterpret_cast<void*>(producer));
  }
  return none();
}

// Those of the calling thread that are not in use, as numbers: [(handle, its stream)].
PyObject* handles(PyObject* arguments) {
  int device;
  parse(arguments, "i", &device);
  Ref list = owned(PyList_New(0));
  for (const auto& [handle, stream] : handles_of_thread(device)) {
    const Ref pair =
        owned(Py_BuildValue("(NN)", PyLong_FromVoidPtr(handle), PyLong_FromVoidPtr(stream)));
    if (PyList_Append(list.get(), pair.get()) != 0) throw PythonError{};
  }
  return list.release();
}

Ref sizes(const std::int64_t* values, int count) {
  Ref tuple = owned(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    PyTuple_SetItem(tuple.get(), i, owned(PyLong_FromLongLong(values[i])).release());
  }
  return tuple;
}

// What a capsule of DLPack holds: (pointer, type's code, bits and lanes, shape, strides or None,
// version and flags or None, which older capsules do not have).
PyObject* dlpack(PyObject* arguments) {
  PyObject* capsule;
  parse(arguments, "O", &capsule);
  const bool is_versioned = PyCapsule_IsValid(capsule, "dltensor_versioned") != 0;
  void* pointer = PyCapsule_GetPointer(capsule, is_versioned ? "dltensor_versioned" : "dltensor");
  if (pointer == nullptr) throw PythonError{};
  const auto* versioned = is_versioned ? static_cast<const DlpackVersioned*>(pointer) : nullptr;
  if (versioned != nullptr && versioned->major != 1) {  // nothing behind the version is known
    return Py_BuildValue("(OOOOOO(II)O)", Py_None, Py_None, Py_None, Py_None, Py_None, Py_None,
                         versioned->major, versioned->minor, Py_None);
  }
  const auto& tensor =
      versioned != nullptr ? versioned->tensor : *static_cast<const DlpackTensor*>(pointer);
  const auto address = reinterpret_cast<unsigned long long>(tensor.data) + tensor.byte_offset;
  PyObject* strides =
      tensor.strides == nullptr ? none() : sizes(tensor.strides, tensor.dimensions).release();
  PyObject* shape = sizes(tensor.shape, tensor.dimensions).release();
  PyObject* flags = versioned == nullptr ? none() : PyLong_FromUnsignedLongLong(versioned->flags);
  const unsigned major = versioned == nullptr ? 0 : versioned->major;
  const unsigned minor = versioned == nullptr ? 0 : versioned->minor;
  return Py_BuildValue("(KBBHNN(II)N)", address, tensor.code, tensor.bits, tensor.lanes, shape,
                       strides, major, minor, flags);
}

struct Field {
  const char* name;
  std::size_t offset, size;
};

#define BWGEMM_FIELD(name) \
  { #name, offsetof(bwgemmMatmulDesc_t, name), sizeof(bwgemmMatmulDesc_t::name) }
constexpr Field kFields[] = {
    BWGEMM_FIELD(m),
    BWGEMM_FIELD(n),
    BWGEMM_FIELD(k),
    BWGEMM_FIELD(Atype),
    BWGEMM_FIELD(Btype),
    BWGEMM_FIELD(Ctype),
    BWGEMM_FIELD(Dtype),
    BWGEMM_FIELD(Aorder),
    BWGEMM_FIELD(Border),
    BWGEMM_FIELD(Corder),
    BWGEMM_FIELD(Dorder),
    BWGEMM_FIELD(lda),
    BWGEMM_FIELD(ldb),
    BWGEMM_FIELD(ldc),
    BWGEMM_FIELD(ldd),
    BWGEMM_FIELD(strideA),
    BWGEMM_FIELD(strideB),
    BWGEMM_FIELD(strideC),
    BWGEMM_FIELD(strideD),
    BWGEMM_FIELD(batchCount),
    BWGEMM_FIELD(activation),
    BWGEMM_FIELD(gate),
    BWGEMM_FIELD(bias),
    BWGEMM_FIELD(biasType),
    BWGEMM_FIELD(biasDim),
    BWGEMM_FIELD(biasGradient),
    BWGEMM_FIELD(biasGradientOf),
    BWGEMM_FIELD(biasGradientType),
    BWGEMM_FIELD(strideBiasGradient),
    BWGEMM_FIELD(clampLow),
    BWGEMM_FIELD(clampHigh),
};
#undef BWGEMM_FIELD

// Addresses are numbers from 0, the rest fits a signed one: Python code has seen to it.
void set_field(bwgemmMatmulDesc_t& desc, PyObject* name, PyObject* value) {
  for (const Field& field : kFields) {
    if (PyUnicode_CompareWithASCIIString(name, field.name) != 0) continue;
    const unsigned long long number = PyLong_AsUnsignedLongLongMask(value);
    if (PyErr_Occurred() != nullptr) throw PythonError{};
    std::memcpy(reinterpret_cast<char*>(&desc) + field.offset, &number, field.size);
    return;
  }
  PyErr_SetObject(PyExc_KeyError, name);
  throw PythonError{};
}

// (device, stream, fields of the struct that differ from BWGEMM_MATMUL_DESC_INIT, alpha, beta, and
// the addresses of A, B, C and D)
Call call_of(PyObject* arguments) {
  Call call;
  PyObject *fields, *name, *value;
  unsigned long long stream, a, b, c, d;
  parse(arguments, "iKOffKKKK", &call.device, &stream, &fields, &call.alpha, &call.beta, &a, &b, &c,
        &d);
  call.stream = reinterpret_cast<void*>(stream);
  call.a = a;
  call.b = b;
  call.c = c;
  call.d = d;
  Py_ssize_t position = 0;
  while (PyDict_Next(fields, &position, &name, &value) != 0) set_field(call.desc, name, value);
  return call;
}

PyObject* multiply_arrays(PyObject* arguments) {
  multiply(call_of(arguments));
  return none();
}

PyObject* explain(PyObject* arguments) {
  return text_of(explained(call_of(arguments)).c_str());
}

PyMethodDef methods[] = {{"open", guarded<open>, METH_VARARGS, nullptr},
                         {"version", guarded<version>, METH_NOARGS, nullptr},
                         {"build_info", guarded<build_info>, METH_NOARGS, nullptr},
                         {"status_name", guarded<status_name>, METH_VARARGS, nullptr},
                         {"kernel_names", guarded<kernel_names>, METH_NOARGS, nullptr},
                         {"rounded", guarded<rounded>, METH_VARARGS, nullptr},
                         {"open_driver", guarded<open_driver>, METH_NOARGS, nullptr},
                         {"device_of", guarded<device_of_pointer>, METH_VARARGS, nullptr},
                         {"wait_for", guarded<wait_for_stream>, METH_VARARGS, nullptr},
                         {"handles", guarded<handles>, METH_VARARGS, nullptr},
                         {"dlpack", guarded<dlpack>, METH_VARARGS, nullptr},
                         {"multiply", guarded<multiply_arrays>, METH_VARARGS, nullptr},
                         {"explain", guarded<explain>, METH_VARARGS, nullptr},
                         {"product", guarded<product>, METH_VARARGS, nullptr},
                         {"is_eager", guarded<is_eager>, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "bwgemm._native",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

void raise(const Failure& failure) {
  const Ref text(text_of(failure.text.c_str()));
  const Ref error(text ? PyObject_CallFunction(error_class, "iO", failure.status, text.get())
                       : nullptr);
  if (error) PyErr_SetObject(error_class, error.get());
}

}  // namespace bwgemm_python

PyMODINIT_FUNC PyInit__native() {
  bwgemm_python::register_fork();
  return PyModule_Create(&bwgemm_python::definition);
}
