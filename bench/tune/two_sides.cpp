// SPDX-License-Identifier: Apache-2.0
#include "tune/two_sides.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>

#include "bind.h"

namespace bwgemm::bench {
namespace {

void* opened(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

// A program of cuBLASLt alone has no cuBLAS: that of the same folder and version is taken.
std::string beside(const std::string& cublaslt) {
  const std::filesystem::path path(cublaslt);
  std::string name = path.filename();
  if (name.starts_with("libcublasLt")) name.erase(std::string("libcublas").size(), 2);
  return path.parent_path() / name;
}

void* open_cublas(const std::string& named) {
  if (!named.empty()) return opened(beside(named));
  void* const of_13 = dlopen("libcublas.so.13", RTLD_NOW | RTLD_GLOBAL);
  return of_13 != nullptr ? of_13 : opened("libcublas.so.12");
}

// The library reads its variables at the first call.
void* open_dropin(const std::string& path) {
  for (const char* variable : {"BWGEMM_CUBLAS_CHOSEN", "BWGEMM_CUBLAS_LOG"}) unsetenv(variable);
  setenv("BWGEMM_CUBLAS", "serve", 1);
  setenv("BWGEMM_CUBLAS_POLICY", "all", 1);
  setenv("BWGEMM_CUBLAS_DLSYM", "0", 1);
  return opened(path);
}

Side side_of(void* library) {
  Side side{};
  bind(library, "cublasHgemm_64", side.hgemm);
  bind(library, "cublasHgemmStridedBatched_64", side.hgemm_strided_batched);
  bind(library, "cublasSgemmEx_64", side.sgemm_ex);
  bind(library, "cublasGemmEx_64", side.gemm_ex);
  bind(library, "cublasGemmStridedBatchedEx_64", side.gemm_strided_batched_ex);
  bind(library, "cublasGemmBatchedEx_64", side.gemm_batched_ex);
  bind(library, "cublasLtMatmul", side.lt_matmul);
  return side;
}

// What `dropin` stands in front of is its own.
State state_of(void* cublas, void* dropin) {
  State state{};
  bind(dropin, "cublasCreate_v2", state.create);
  bind(dropin, "cublasSetStream_v2", state.set_stream);
  bind(dropin, "cublasSetWorkspace_v2", state.set_workspace);
  bind(cublas, "cublasSetPointerMode_v2", state.set_pointer_mode);
  bind(cublas, "cublasSetMathMode", state.set_math_mode);
  bind(cublas, "cublasSetSmCountTarget", state.set_sm_count_target);
  bind(cublas, "cublasLtMatmulDescCreate", state.desc_create);
  bind(cublas, "cublasLtMatmulDescDestroy", state.desc_destroy);
  bind(cublas, "cublasLtMatmulDescSetAttribute", state.desc_set);
  bind(cublas, "cublasLtMatrixLayoutCreate", state.layout_create);
  bind(cublas, "cublasLtMatrixLayoutDestroy", state.layout_destroy);
  bind(cublas, "cublasLtMatrixLayoutSetAttribute", state.layout_set);
  return state;
}

}  // namespace

void require(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + " returned status " + std::to_string(status));
}

TwoSides::TwoSides(const std::string& cublas, const std::string& dropin) {
  void* const real = open_cublas(cublas);
  void* const in_front = open_dropin(dropin);
  theirs = side_of(real);
  ours = side_of(in_front);
  bind(in_front, "bwgemmCublasTakeLast", ours.take_last);
  state = state_of(real, in_front);
  require(state.create(&handle), "cublasCreate_v2");
}

}  // namespace bwgemm::bench
