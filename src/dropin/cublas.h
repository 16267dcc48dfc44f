// SPDX-License-Identifier: Apache-2.0
// The copies of cuBLAS and cuBLASLt that are loaded into the process, and their functions. Usually
// there is one of each. A handle of one copy must not reach another: whoever keeps handles keeps
// their copy beside them.
#pragma once

#include <string>

#include "dropin/cublaslt_abi.h"
#include "dropin/lt_images.h"

namespace bwgemm::dropin {

// Functions that a copy lacks are null; members have the functions' names without "cublas". A copy
// of cuBLAS has the functions of the cuBLASLt that it depends on too, because its handles are
// cuBLASLt's as well.
struct Cublas {
  decltype(&::cublasCreate_v2) create;
  decltype(&::cublasDestroy_v2) destroy;
  decltype(&::cublasSetWorkspace_v2) set_workspace;
  decltype(&::cublasSetStream_v2) set_stream;
  decltype(&::cublasGetStream_v2) get_stream;
  decltype(&::cublasGetPointerMode_v2) get_pointer_mode;
  decltype(&::cublasGetMathMode) get_math_mode;
  decltype(&::cublasGetSmCountTarget) get_sm_count_target;
  decltype(&::cublasHgemm) hgemm;
  decltype(&::cublasHgemm_64) hgemm_64;
  decltype(&::cublasHgemmStridedBatched) hgemm_strided_batched;
  decltype(&::cublasHgemmStridedBatched_64) hgemm_strided_batched_64;
  decltype(&::cublasSgemmEx) sgemm_ex;
  decltype(&::cublasSgemmEx_64) sgemm_ex_64;
  decltype(&::cublasGemmEx) gemm_ex;
  decltype(&::cublasGemmEx_64) gemm_ex_64;
  decltype(&::cublasGemmStridedBatchedEx) gemm_strided_batched_ex;
  decltype(&::cublasGemmStridedBatchedEx_64) gemm_strided_batched_ex_64;
  decltype(&::cublasGemmBatchedEx) gemm_batched_ex;
  decltype(&::cublasGemmBatchedEx_64) gemm_batched_ex_64;
  decltype(&::cublasLtCreate) lt_create;
  decltype(&::cublasLtDestroy) lt_destroy;
  decltype(&::cublasLtMatmul) lt_matmul;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) lt_algo_config_get_attribute;
  LtGetters lt_getters;
  LtDefaults lt_defaults;
  LtImages lt_images;
};

// The copy that the code at `caller` would have called if this library were not there. Null if the
// process has none, which standard error then says once. Keeps the copy loaded.
const Cublas* cublas_of(const void* caller);
const Cublas* cublaslt_of(const void* caller);

// The copy of cuBLAS whose own code `caller` is, if a handle of that copy was made or its code was
// the caller of cublaslt_of(). Otherwise null.
const Cublas* cublas_around(const void* caller);

// Whether a file of that path is cuBLAS's or cuBLASLt's.
bool is_named_cublas(const char* path);
bool is_named_cublaslt(const char* path);

// The path of the first file of the process that is cuBLAS's or cuBLASLt's; empty if there is none.
std::string loaded_file(bool (*is_named)(const char* path));
// That of cuBLAS; if there is none, that of cuBLASLt.
std::string loaded_cublas();

// A thread that is inside a function of cuBLAS: what cuBLAS itself calls is not for this library.
class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool now() { return depth > 0; }

 private:
  // The library is loaded with the program, which has room for it then: found without a call.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local int depth;
};

// Calls a function of cuBLAS on the program's behalf.
template <class Function, class... Arguments>
cublasStatus_t call_real(Function* function, Arguments... arguments) {
  if (function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Inside inside;
  return function(arguments...);
}

}  // namespace bwgemm::dropin
