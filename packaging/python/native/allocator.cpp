// SPDX-License-Identifier: Apache-2.0
#include "allocator.h"

#include <dlfcn.h>

#include "bwgemm/types.h"
#include "library.h"
#include "torch.h"

namespace bwgemm_python {
namespace {

bool read(void* file, const char* name, std::int32_t& value) {
  std::int32_t (*function)() = nullptr;
  if (!find(file, name, function)) return false;
  value = function();
  return true;
}

}  // namespace

Allocator::Allocator(PyObject* module)
    : wrap_(attribute(module, {"_C", "_aoti", "alloc_tensors_by_stealing_from_void_ptrs"})) {
  void* file = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  const bool is_whole = wrap_ && file != nullptr &&
                        read(file, "aoti_torch_dtype_float32", float32_) &&
                        read(file, "aoti_torch_dtype_float16", float16_) &&
                        read(file, "aoti_torch_dtype_bfloat16", bfloat16_) &&
                        read(file, "aoti_torch_device_type_cuda", cuda_);
  if (is_whole) find(file, "aoti_torch_empty_strided", make_);
}

Ref Allocator::empty(int device, int dimensions, const std::int64_t* shape,
                     const std::int64_t* strides, std::int32_t type) const {
  if (make_ == nullptr) return Ref();
  const std::int32_t dtype = type == BWGEMM_R_32F   ? float32_
                             : type == BWGEMM_R_16F ? float16_
                                                    : bfloat16_;
  void* made = nullptr;
  if (make_(dimensions, shape, strides, dtype, cuda_, device, &made) != 0) return Ref();
  const Ref capsule = owned(PyCapsule_New(made, nullptr, nullptr));
  const Ref handles = owned(PyList_New(1));
  PyList_SetItem(handles.get(), 0, new_reference(capsule.get()));
  const Ref tensors = owned(PyObject_CallFunctionObjArgs(wrap_.get(), handles.get(), nullptr));
  return owned(new_reference(PyList_GetItem(tensors.get(), 0)));
}

}  // namespace bwgemm_python
