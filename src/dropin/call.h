// SPDX-License-Identifier: Apache-2.0
// One call of a product of cuBLAS or cuBLASLt, whichever of their functions it was.
#pragma once

#include <cstdint>
#include <optional>

#include "dropin/cublaslt_abi.h"

namespace bwgemm::dropin {

enum class Entry : std::uint8_t {
  hgemm,
  hgemm_strided_batched,
  sgemm_ex,
  gemm_ex,
  gemm_strided_batched_ex,
  gemm_batched_ex,
  lt_matmul,
};
inline constexpr Entry all_entries[] = {
    Entry::hgemm,    Entry::hgemm_strided_batched,   Entry::sgemm_ex,
    Entry::gemm_ex,  Entry::gemm_strided_batched_ex, Entry::gemm_batched_ex,
    Entry::lt_matmul};

// The name of the function with 32-bit sizes. The log does not tell the form with `_64` apart.
constexpr const char* name(Entry entry) {
  constexpr const char* names[] = {
      "cublasHgemm",   "cublasHgemmStridedBatched",  "cublasSgemmEx",
      "cublasGemmEx",  "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx",
      "cublasLtMatmul"};
  return names[static_cast<std::size_t>(entry)];
}

// A matrix, or the batch of matrices, of a call. Enumerators of cuBLAS are ints here: a program may
// pass any value.
struct Operand {
  const void* data;  // of a batch by pointers: the array of pointers, on the device
  int type;          // cudaDataType
  std::int64_t ld, stride;
  int order = CUBLASLT_ORDER_COL;  // cublasLtOrder_t

  bool is_row_major() const { return order == CUBLASLT_ORDER_ROW; }
};

// What cuBLASLt does to the product before it is stored.
struct Epilogue {
  int kind = CUBLASLT_EPILOGUE_DEFAULT;  // cublasLtEpilogue_t
  void* bias = nullptr;                  // or where the bias gradient goes
  int bias_type = CUDA_R_32F;
  std::int64_t bias_stride = 0;
  void* aux = nullptr;
  int aux_type = CUDA_R_32F;
  std::int64_t aux_ld = 0, aux_stride = 0;
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
  std::optional<Operand> d = std::nullopt;  // nothing: the result goes to C
  Epilogue epilogue = {};
  const cublasLtMatmulAlgo_t* lt_algo = nullptr;  // null: cuBLASLt chooses

  const Operand& output() const { return d ? *d : c; }
  bool is_lt() const { return entry == Entry::lt_matmul; }
  bool by_pointers() const { return entry == Entry::gemm_batched_ex; }
  bool is_empty() const { return m == 0 || n == 0 || batch == 0 || (is_lt() && k == 0); }
  // Whether alpha and beta are half; otherwise they are float.
  bool has_half_scalars() const { return compute == CUBLAS_COMPUTE_16F; }
};

// One digit of 0 (columns) or 1 (rows) for each of A, B, C and D.
inline std::int64_t orders_of(const Call& call) {
  return call.a.order * 1000 + call.b.order * 100 + call.c.order * 10 + call.output().order;
}

// Settings of the handle at the time of a call; of a call of cuBLASLt, what the call says.
struct CallSettings {
  cudaStream_t stream;
  int pointer_mode, math_mode, sm_count_target;
  void* workspace;  // null: not known, or none
  std::size_t workspace_size;
  bool splits_k = true;  // whether bwgemm may divide k in that workspace

  bool has_device_scalars() const { return pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }
};

}  // namespace bwgemm::dropin
