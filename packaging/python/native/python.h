// SPDX-License-Identifier: Apache-2.0
//
// Python's C interface, of the limited kind: one build of the module serves every Python from 3.8
// on. Inside of the module errors are exceptions. guarded() turns them into those of Python.
#pragma once

#include <Python.h>
#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <unistd.h>
#include <utility>

namespace bwgemm_python {

// The headers may be those of another machine's Python.
static_assert(SIZEOF_VOID_P == sizeof(void*) && SIZEOF_SIZE_T == sizeof(std::size_t) &&
              SIZEOF_LONG == sizeof(long) && SIZEOF_WCHAR_T == sizeof(wchar_t));

// Python's error is set.
struct PythonError {};

// What becomes a bwgemm.Error: a bwgemmStatus_t and a sentence.
struct Failure {
  int status;
  std::string text;
};

// An owned reference, or none.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// The reference that a call of Python returned; its error goes on as PythonError.
inline Ref owned(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return Ref(object);
}

inline PyObject* new_reference(PyObject* object) {
  Py_INCREF(object);
  return object;
}

inline PyObject* none() {
  return new_reference(Py_None);
}

// Other threads may run Python for the length of a scope, in which no Python is called. Once the
// interpreter has ended, a thread stays in the scope's end for ever. Python 3.14 has it stay there;
// older ones unwind its stack, which would drop references without Python's lock.
class WithoutPython {
 public:
  WithoutPython() : state_(PyEval_SaveThread()) {}
  ~WithoutPython() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) pause();
    }
  }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  PyThreadState* state_;
};

// Raises bwgemm.Error. Defined with the module, which is told the class.
void raise(const Failure& failure);

// body(arguments) as a function of Python.
template <PyObject* (*body)(PyObject*)>
PyObject* guarded(PyObject*, PyObject* arguments) {
  try {
    return body(arguments);
  } catch (const PythonError&) {
  } catch (const Failure& failure) {
    raise(failure);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace bwgemm_python
