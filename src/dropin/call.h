// SPDX-License-Identifier: Apache-2.0
// One call of a product of cuBLAS, whichever of its functions it was.
#pragma once

#include <cstdint>

#include "dropin/cublas_abi.h"

namespace bwgemm::dropin {

enum class Entry : std::uint8_t {
  hgemm,
  hgemm_strided_batched,
  sgemm_ex,
  gemm_ex,
  gemm_strided_batched_ex,
  gemm_batched_ex,
};
inline constexpr Entry all_entries[] = {
    Entry::hgemm,   Entry::hgemm_strided_batched,   Entry::sgemm_ex,
    Entry::gemm_ex, Entry::gemm_strided_batched_ex, Entry::gemm_batched_ex};

// The name of the function with 32-bit sizes. The log does not tell the form with `_64` apart.
constexpr const char* name(Entry entry) {
  constexpr const char* names[] = {
      "cublasHgemm",  "cublasHgemmStridedBatched",  "cublasSgemmEx",
      "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx"};
  return names[static_cast<std::size_t>(entry)];
}

// A matrix, or the batch of matrices, of a call. Enumerators of cuBLAS are ints here: a program may
// pass any value.
struct Operand {
  const void* data;  // of a batch by pointers: the array of pointers, on the device
  int type;          // cudaDataType
  std::int64_t ld, stride;
};

struct Call {
  Entry entry;
  cublasHandle_t handle;
  int transa, transb;
  std::int64_t m, n, k;
  const void *alpha, *beta;
  Operand a, b, c;
  std::int64_t batch;
  int compute, algo;

  bool by_pointers() const { return entry == Entry::gemm_batched_ex; }
  bool is_empty() const { return m == 0 || n == 0 || batch == 0; }
  // Whether alpha and beta are half; otherwise they are float.
  bool has_half_scalars() const { return compute == CUBLAS_COMPUTE_16F; }
};

// Settings of the handle at the time of a call.
struct CallSettings {
  cudaStream_t stream;
  int pointer_mode, math_mode, sm_count_target;
  void* workspace;  // null: not known, or none
  std::size_t workspace_size;

  bool has_device_scalars() const { return pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }
};

}  // namespace bwgemm::dropin
