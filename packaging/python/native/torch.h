// SPDX-License-Identifier: Apache-2.0
//
// Tensors of torch, read through the exchange interface of DLPack, which torch has since 2.10.
// Torch is not imported here: it is what the program imported.
#pragma once

#include <initializer_list>

#include "allocator.h"
#include "dlpack.h"
#include "layout.h"
#include "python.h"

namespace bwgemm_python {

// The attribute of an attribute and so on, or none, without an error of Python.
Ref attribute(PyObject* object, std::initializer_list<const char*> names);

// How careful a call is with what torch would do around its own operators.
enum class Care {
  kNone,       // the call is the kernel of an operator
  kGradients,  // tensors that require gradients are left alone
  kModes  // so is every call under a mode of torch: autocast, vmap, torch.jit.trace and the like
};

class Torch {
 public:
  // Null if the program has imported no torch that can be used here.
  static Torch* imported();

  // Whether it is of torch.Tensor or Parameter itself. Classes derived from them may mean anything,
  // but not below torch's dispatcher, which has asked them by then: there they are tensors too.
  bool is_tensor(PyObject* object, Care care) const;

  // Whether the tensor may be read under that much care.
  bool is_plain(PyObject* tensor, Care care) const;

  // Whether the numbers in memory have the other sign, as views of conjugated complex halves may.
  bool is_negated(PyObject* tensor) const;

  // Whether a mode of torch is in force.
  bool has_mode() const;

  // False if it is not a strided tensor of a served type on a CUDA device.
  bool describe(PyObject* tensor, Operand& operand) const;

  // The current stream of the device.
  void* current_stream(int device) const;

  // A new tensor with rows one behind the other, on the device of another, which is of that number.
  Ref empty(PyObject* like, int device, int dimensions, const std::int64_t* shape,
            std::int32_t type) const;

 private:
  explicit Torch(PyObject* module);
  bool answers(const Ref& function, PyObject* nothing_in_force) const;

  Ref module_, tensor_, parameter_, empty_strided_, float32_, float16_, bfloat16_;
  Ref is_grad_enabled_, is_autocast_enabled_, dispatch_modes_, functorch_level_, trace_;
  const DlpackExchange* exchange_ = nullptr;
  Allocator allocator_;
};

}  // namespace bwgemm_python
