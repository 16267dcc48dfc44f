/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests ask the double of cuBLAS (fake_cublas.cpp). It keeps the state of handles as cuBLAS
 * does, records the products that reach it, and computes them by simple loops on the host. Like
 * cuBLAS it is one library with one version node, whose functions call each other past what was
 * preloaded, except where a test asks otherwise.
 */
#ifndef BWGEMM_TESTS_FAKE_CUBLAS_H
#define BWGEMM_TESTS_FAKE_CUBLAS_H

#include "dropin/cublas_abi.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The last product, by the function's own name, and how many there were. */
typedef struct FakeProduct {
  const char* function;
  int transa, transb;
  int64_t m, n, k, lda, ldb, ldc, strideA, strideB, strideC, batch;
  int Atype, Btype, Ctype, compute, algo;
  const void *alpha, *A, *B, *beta, *C;
  int64_t count;
} FakeProduct;

FakeProduct fakeCublasLast(void);

/* Products until the next reset are recorded only. */
void fakeCublasRecordOnly(int only);

/* Is added to element (0, 0) of every product that is computed. */
void fakeCublasAdd(double error);

/* cublasGemmStridedBatchedEx then calls cublasGemmEx as another library would. */
void fakeCublasCallsOut(int calls_out);

/* Multiplies by cuBLASLt, as functions of cuBLAS do that nobody stands in front of. Returns its
 * status. */
cublasStatus_t fakeCublasMultiplyByLt(cublasHandle_t handle);

/* Products then call fakeCublasMultiplyByLt besides. */
void fakeCublasCallsLt(int calls_lt);

/* Forgets the products and undoes the above. */
void fakeCublasReset(void);

/* The handles that exist. */
int fakeCublasHandles(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_TESTS_FAKE_CUBLAS_H */
