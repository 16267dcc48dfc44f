// SPDX-License-Identifier: Apache-2.0
// Where the matrices of one batch lie: a stride apart, or where an array of pointers says.
#pragma once

#include "device/params.h"
#include "device/ptx/operand_memory.h"

namespace bwgemm::direct {

// What the strides of the batch are counted from: with pointers they are zero.
BWGEMM_DEVICE const char* data_of_batch(const KernelParams& params, const void* data,
                                        std::int64_t batch) {
  if (!params.is_pointer_array) return static_cast<const char*>(data);
  return reinterpret_cast<const char*>(
      ptx::ld_global_b64(static_cast<const char*>(data) + sizeof(void*) * batch));
}

BWGEMM_DEVICE StridedMatrix matrix_of_batch(const KernelParams& params, const StridedMatrix& matrix,
                                            std::int64_t batch) {
  return {data_of_batch(params, matrix.data, batch), matrix.outer_stride, matrix.inner_stride,
          matrix.batch_stride};
}

}  // namespace bwgemm::direct
