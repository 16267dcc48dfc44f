// SPDX-License-Identifier: Apache-2.0
//
// New tensors of torch, made through torch's C interface, which takes the host less than half the
// time of torch.empty_strided. It is looked for in the torch that the program imported.
#pragma once

#include <cstdint>

#include "python.h"

namespace bwgemm_python {

class Allocator {
 public:
  // module: torch. Where that has no such interface, empty() makes nothing.
  explicit Allocator(PyObject* module);

  // On a CUDA device; type: a bwgemmDataType_t. None without an error of Python if torch could not
  // make it: torch.empty_strided then says why.
  Ref empty(int device, int dimensions, const std::int64_t* shape, const std::int64_t* strides,
            std::int32_t type) const;

 private:
  int (*make_)(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t,
               std::int32_t, void**) = nullptr;
  std::int32_t float32_ = 0, float16_ = 0, bfloat16_ = 0, cuda_ = 0;
  Ref wrap_;  // takes a list of what make_ made, and returns a list of tensors that own it
};

}  // namespace bwgemm_python
