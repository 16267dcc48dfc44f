// SPDX-License-Identifier: Apache-2.0
// The C functions about algorithms and tuning.
#include "api/algos.h"
#include "api/autotune.h"
#include "api/guard.h"

using bwgemm::autotune;
using bwgemm::checked;
using bwgemm::guard;
using bwgemm::Handle;
using bwgemm::known_options;
using bwgemm::list_algos;
using bwgemm::matmul_arguments;

bwgemmStatus_t bwgemmMatmulGetAlgos(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                    const void* alpha, const void* A, const void* B,
                                    const void* beta, const void* C, void* D,
                                    bwgemmMatmulAlgo_t* algos, size_t capacity, size_t* count) {
  return guard(__func__, [&] {
    list_algos(handle, matmul_arguments(desc, alpha, A, B, beta, C, D), algos, capacity, count);
  });
}

bwgemmStatus_t bwgemmMatmulAutotune(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                    const void* alpha, const void* A, const void* B,
                                    const void* beta, const void* C, void* D,
                                    const bwgemmAutotuneOptions_t* options, int64_t* algo) {
  return guard(__func__, [&] {
    Handle& of = checked(handle);
    const std::int64_t found =
        autotune(of, matmul_arguments(desc, alpha, A, B, beta, C, D), known_options(options));
    if (algo != nullptr) *algo = found;
  });
}

bwgemmStatus_t bwgemmSetTuningCache(bwgemmHandle_t handle, const char* path) {
  return guard(__func__, [&] {
    Handle& set = checked(handle);
    set.tuning.open(path != nullptr ? path : "");
    set.programs.clear();
  });
}
