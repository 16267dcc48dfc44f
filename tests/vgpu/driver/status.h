// SPDX-License-Identifier: Apache-2.0
// Failure: how everything behind the entry points says that a call has to return an error.
#pragma once

#include "vgpu/driver/api.h"

namespace bwgemm::vgpu::driver {

struct Failure {
  CUresult result;
};

[[noreturn]] inline void fail(CUresult result) {
  throw Failure{result};
}

inline void require(bool condition, CUresult otherwise) {
  if (!condition) fail(otherwise);
}

inline void require_value(bool condition) {
  require(condition, CUDA_ERROR_INVALID_VALUE);
}

}  // namespace bwgemm::vgpu::driver
