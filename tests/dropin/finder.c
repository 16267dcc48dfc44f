/* SPDX-License-Identifier: Apache-2.0
 * A program without cuBLAS that finds its functions by dlsym, as JAX, CuPy and ctypes do, in the
 * files that its arguments name: cuBLAS and cuBLASLt. It prints cuBLAS's status of each call, how
 * many products reached it, and the files in which it found the functions that its further
 * arguments name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "dropin/fake_cublas.h"
#include "dropin/fake_cublaslt.h"

static void* opened(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  return library;
}

/* By either function, which must agree. */
static void* found(void* library, const char* version, const char* name) {
  void* const plain = dlsym(library, name);
  return plain == dlvsym(library, name, version) ? plain : NULL;
}

static void print_file(void* function) {
  Dl_info info;
  const int is_known = function != NULL && dladdr(function, &info) != 0;
  const char* const slash = is_known ? strrchr(info.dli_fname, '/') : NULL;
  printf(" %s", slash != NULL ? slash + 1 : "nowhere");
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  void* const cublas = opened(arguments[1]);
  void* const lt = opened(arguments[2]);
  if (cublas == NULL || lt == NULL) return 2;
  cublasStatus_t (*const create)(cublasHandle_t*) =
      (cublasStatus_t(*)(cublasHandle_t*))dlsym(cublas, "cublasCreate_v2");
  cublasStatus_t (*const create_lt)(cublasLtHandle_t*) =
      (cublasStatus_t(*)(cublasLtHandle_t*))dlsym(lt, "cublasLtCreate");
  __typeof__(&cublasGemmEx) const gemm = (__typeof__(&cublasGemmEx))dlsym(cublas, "cublasGemmEx");
  __typeof__(&cublasLtMatmul) const matmul =
      (__typeof__(&cublasLtMatmul))dlsym(lt, "cublasLtMatmul");
  void (*const record_only)(int) = (void (*)(int))dlsym(cublas, "fakeCublasRecordOnly");
  void (*const lt_record_only)(int) = (void (*)(int))dlsym(lt, "fakeCublasLtRecordOnly");
  FakeProduct (*const last)(void) = (FakeProduct(*)(void))dlsym(cublas, "fakeCublasLast");
  FakeLtProduct (*const lt_last)(void) = (FakeLtProduct(*)(void))dlsym(lt, "fakeCublasLtLast");
  __typeof__(&cublasLtMatmulDescCreate) const create_desc =
      (__typeof__(&cublasLtMatmulDescCreate))dlsym(lt, "cublasLtMatmulDescCreate");
  __typeof__(&cublasLtMatrixLayoutCreate) const create_layout =
      (__typeof__(&cublasLtMatrixLayoutCreate))dlsym(lt, "cublasLtMatrixLayoutCreate");

  const float one = 1, zero = 0;
  char* const memory = (char*)0x7f0000000000;
  cublasHandle_t handle = NULL;
  cublasLtHandle_t lt_handle = NULL;
  const cublasStatus_t created = create(&handle), lt_created = create_lt(&lt_handle);
  record_only(1);
  lt_record_only(1);
  const cublasStatus_t served =
      gemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 64, 64, 64, &one, memory, CUDA_R_16F, 64,
           memory + 8192, CUDA_R_16F, 64, &zero, memory + 16384, CUDA_R_16F, 64, CUBLAS_COMPUTE_32F,
           CUBLAS_GEMM_DEFAULT);
  cublasLtMatmulDesc_t desc = NULL;
  cublasLtMatrixLayout_t layout = NULL;
  create_desc(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  create_layout(&layout, CUDA_R_16BF, 64, 64, 64);
  const cublasStatus_t lt_served =
      matmul(lt_handle, desc, &one, memory, layout, memory + 8192, layout, &zero, memory + 16384,
             layout, memory + 16384, layout, NULL, NULL, 0, NULL);
  printf("%d %d %d %d, %d products, %d of Lt\n", (int)created, (int)lt_created, (int)served,
         (int)lt_served, (int)last().count, (int)lt_last().count);
  for (int at = 3; at < count; ++at) {
    const int is_lt = strncmp(arguments[at], "cublasLt", 8) == 0;
    printf("%s", arguments[at]);
    print_file(
        found(is_lt ? lt : cublas, is_lt ? "libcublasLt.so.13" : "libcublas.so.13", arguments[at]));
    print_file(dlsym(RTLD_NEXT, arguments[at]));
    printf("\n");
  }
  printf("%s\n", dlsym(lt, "cublasGemmEx") == NULL ? "none in Lt" : "in Lt");
  printf("%s\n", dlsym(cublas, "cublasNothing") == NULL ? dlerror() : "found");
  return 0;
}
