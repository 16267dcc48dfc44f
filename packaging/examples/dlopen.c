/* SPDX-License-Identifier: Apache-2.0
 *
 * bwgemm without linking to it or to CUDA: the library and the driver are opened at run time.
 *
 *   cc dlopen.c -o dlopen -ldl && ./dlopen [path of libbwgemm.so.1]
 *
 * Computes C = A * B in bfloat16, column-major, and checks one column. The declarations come from
 * bwgemm.h, which needs no CUDA header (-I its folder if it is not installed). */
#include <bwgemm/bwgemm.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 64, N = 32, K = 48 };

static void* function(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

static void* opened(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return library;
}

/* CUresult is an int, a CUdevice too, and a CUdeviceptr a 64-bit address. */
static void check(int result, const char* what) {
  if (result != 0) {
    fprintf(stderr, "%s failed with CUDA error %d\n", what, result);
    exit(1);
  }
}

/* Small integers are exact in bfloat16, the upper half of a float. */
static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static float number(uint16_t upper) {
  const uint32_t bits = (uint32_t)upper << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int main(int argc, char** argv) {
  const char* driver_path = getenv("BWGEMM_LIBCUDA");
  void* cuda = opened(driver_path != NULL ? driver_path : "libcuda.so.1");
  int (*init)(unsigned) = function(cuda, "cuInit");
  int (*get_device)(int*, int) = function(cuda, "cuDeviceGet");
  int (*retain)(void**, int) = function(cuda, "cuDevicePrimaryCtxRetain");
  int (*set_current)(void*) = function(cuda, "cuCtxSetCurrent");
  int (*allocate)(uint64_t*, size_t) = function(cuda, "cuMemAlloc_v2");
  int (*upload)(uint64_t, const void*, size_t) = function(cuda, "cuMemcpyHtoD_v2");
  int (*download)(void*, uint64_t, size_t) = function(cuda, "cuMemcpyDtoH_v2");

  void* bwgemm = opened(argc > 1 ? argv[1] : "libbwgemm.so.1");
  bwgemmStatus_t (*create)(bwgemmHandle_t*) = function(bwgemm, "bwgemmCreate");
  bwgemmStatus_t (*destroy)(bwgemmHandle_t) = function(bwgemm, "bwgemmDestroy");
  const char* (*last_error)(void) = function(bwgemm, "bwgemmGetLastErrorString");
  bwgemmStatus_t (*multiply)(bwgemmHandle_t, bwgemmOperation_t, bwgemmOperation_t, int64_t, int64_t,
                             int64_t, const float*, const void*, int64_t, const void*, int64_t,
                             const float*, void*, int64_t) = function(bwgemm, "bwgemmBf16");

  static uint16_t host_a[M * K], host_b[K * N], host_c[M * N];
  int device = 0, i, k;
  void* context = NULL;
  uint64_t a = 0, b = 0, c = 0;
  const float one = 1, zero = 0;
  bwgemmHandle_t handle = NULL;

  for (i = 0; i < M * K; ++i) host_a[i] = bf16((float)(i % 5 - 2));
  for (i = 0; i < K * N; ++i) host_b[i] = bf16((float)(i % 3 - 1));

  check(init(0), "cuInit");
  check(get_device(&device, 0), "cuDeviceGet");
  check(retain(&context, device), "cuDevicePrimaryCtxRetain");
  check(set_current(context), "cuCtxSetCurrent");
  check(allocate(&a, sizeof host_a), "cuMemAlloc");
  check(allocate(&b, sizeof host_b), "cuMemAlloc");
  check(allocate(&c, sizeof host_c), "cuMemAlloc");
  check(upload(a, host_a, sizeof host_a), "cuMemcpyHtoD");
  check(upload(b, host_b, sizeof host_b), "cuMemcpyHtoD");

  if (create(&handle) != BWGEMM_STATUS_SUCCESS ||
      multiply(handle, BWGEMM_OP_N, BWGEMM_OP_N, M, N, K, &one, (void*)(uintptr_t)a, M,
               (void*)(uintptr_t)b, K, &zero, (void*)(uintptr_t)c, M) != BWGEMM_STATUS_SUCCESS) {
    fprintf(stderr, "%s\n", last_error());
    return 1;
  }
  /* On the same stream as the product, the default one: so it comes after it. */
  check(download(host_c, c, sizeof host_c), "cuMemcpyDtoH");
  destroy(handle);

  for (i = 0; i < M; ++i) {
    float sum = 0;
    for (k = 0; k < K; ++k) sum += number(host_a[i + k * M]) * number(host_b[k + 7 * K]);
    if (number(host_c[i + 7 * M]) != sum) {
      fprintf(stderr, "C[%d, 7] is %g, not %g\n", i, number(host_c[i + 7 * M]), sum);
      return 1;
    }
  }
  puts("dlopen from C: right");
  return 0;
}
