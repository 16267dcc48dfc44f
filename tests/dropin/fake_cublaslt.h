/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests ask the double of cuBLASLt (fake_cublaslt.cpp), which the double of cuBLAS depends on.
 * It keeps attributes as cuBLASLt 13 does, some of which this project does not know, records the
 * products that reach it, and computes them by simple loops on the host.
 */
#ifndef BWGEMM_TESTS_FAKE_CUBLASLT_H
#define BWGEMM_TESTS_FAKE_CUBLASLT_H

#include "dropin/cublaslt_abi.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The arguments of the last product, and how many there were. */
typedef struct FakeLtProduct {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a_layout, b_layout, c_layout, d_layout;
  const void *alpha, *A, *B, *beta, *C;
  void* D;
  const cublasLtMatmulAlgo_t* algo;
  void* workspace;
  size_t workspace_size;
  cudaStream_t stream;
  int64_t count;
} FakeLtProduct;

FakeLtProduct fakeCublasLtLast(void);

/* Products until the next reset are recorded only. */
void fakeCublasLtRecordOnly(int only);

/* Is added to element (0, 0) of every product that is computed, in front of the activation, and to
 * the sums of bias gradients. */
void fakeCublasLtAdd(double error);

/* Forgets the products and undoes the above. */
void fakeCublasLtReset(void);

/* A handle of cuBLAS is one of cuBLASLt too, while it lives. */
void fakeCublasLtKnow(void* cublas_handle, int lives);

/* How many attributes were asked for. */
int64_t fakeCublasLtReads(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_TESTS_FAKE_CUBLASLT_H */
