/* SPDX-License-Identifier: Apache-2.0
 *
 * Products as BLAS computes them. A part of bwgemm.h, whose rules hold here.
 */
#ifndef BWGEMM_GEMM_H
#define BWGEMM_GEMM_H

#include "bwgemm/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = alpha * op(A) * op(B) + beta * C on the handle's stream, asynchronously.
 *
 * op(A) is m x k, op(B) is k x n, and C is m x n. All are column-major. The leading dimension lda
 * is at least max(1, rows of A as stored), ldb likewise, and ldc is at least max(1, m). Every m, n,
 * k >= 0 is served, with any leading dimension and any pointer aligned to its element, up to k =
 * 2^36 - 64 and 2^31 - 1 tiles of 64 x 64 elements of the products of all batches (else
 * NOT_SUPPORTED).
 * - m = 0 or n = 0: the call succeeds, launches nothing, and does not look at pointers.
 * - A scalar is zero if it is 0.0 or -0.0. A denormal scalar is not zero, even if the thread runs
 *   in a mode that takes denormals for zero.
 * - beta = 0: C is not read. k = 0 or alpha = 0: C = beta * C, and A and B are not read. Where the
 *   host knows that (k = 0, or alpha 0 in host pointer mode), A and B may be null or misaligned.
 *   With k > 0 in device pointer mode, A and B must be legal pointers, since alpha might not be 0.
 *   If alpha is 0, the memory behind them need not be readable. alpha = 0 and beta = 1 rewrites C
 *   with itself.
 * - A, B and C may not overlap, except that A and B may be the same memory. If they overlap
 *   otherwise, results are undefined.
 * Types: Atype = Btype is R_16BF or R_16F, Ctype is the same type or R_32F, computeType is
 * COMPUTE_32F. alpha and beta are float. Other known types are NOT_SUPPORTED, unknown ones
 * INVALID_VALUE.
 * algo: -1, 0..23 and 99..115 (cuBLAS's values) all mean "choose". Others are INVALID_VALUE.
 *
 * Numerics. Products of inputs are exact unless they leave float's range. The tensor cores form the
 * sums in float; they align and truncate. With u = 2^-23 and S = sum over k of |a||b|, the
 * accumulated value differs from the exact sum by at most (k + 16) * (u * S + 2^-126). alpha * sum
 * + beta * c is one multiply and one fused multiply-add in float, then one round-to-nearest-even to
 * the type of C. NaN and Inf propagate as the formula says, subject to the rules for zero scalars
 * above. The payload of a NaN is not kept. Denormal inputs, scalars and outputs are kept; float
 * denormals of partial sums may be flushed to zero. A partial sum beyond float's range gives Inf or
 * NaN even if the exact sum is smaller. Overflow of the result type gives Inf. */
BWGEMM_API bwgemmStatus_t bwgemmGemmEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                       bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                       const void* alpha, const void* A, bwgemmDataType_t Atype,
                                       int64_t lda, const void* B, bwgemmDataType_t Btype,
                                       int64_t ldb, const void* beta, void* C,
                                       bwgemmDataType_t Ctype, int64_t ldc,
                                       bwgemmComputeType_t computeType, int algo);

/* batchCount GEMMs. GEMM number i uses A + i * strideA, B + i * strideB and C + i * strideC (in
 * elements). Strides are >= 0. A stride of 0 for A or B uses one matrix for all GEMMs. strideC = 0,
 * or batches of C that overlap, are INVALID_VALUE when batchCount > 1. batchCount 0 succeeds; above
 * 2^31 - 1 is NOT_SUPPORTED. */
BWGEMM_API bwgemmStatus_t bwgemmGemmStridedBatchedEx(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
    int64_t strideA, const void* B, bwgemmDataType_t Btype, int64_t ldb, int64_t strideB,
    const void* beta, void* C, bwgemmDataType_t Ctype, int64_t ldc, int64_t strideC,
    int64_t batchCount, bwgemmComputeType_t computeType, int algo);

/* batchCount GEMMs whose matrices may lie anywhere. Aarray, Barray and Carray are arrays of
 * pointers in device memory. Each pointer is aligned to its element. The kernel reads the arrays,
 * so they must stay valid until the work has run, a replayed graph reads them again, and the host
 * cannot check them. Matrices of A and B may be repeated; matrices of C may not overlap. */
BWGEMM_API bwgemmStatus_t bwgemmGemmBatchedEx(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* const Aarray[], bwgemmDataType_t Atype, int64_t lda,
    const void* const Barray[], bwgemmDataType_t Btype, int64_t ldb, const void* beta,
    void* const Carray[], bwgemmDataType_t Ctype, int64_t ldc, int64_t batchCount,
    bwgemmComputeType_t computeType, int algo);

/* bwgemmGemmEx with all three matrices bfloat16. */
BWGEMM_API bwgemmStatus_t bwgemmBf16(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                     bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                     const float* alpha, const void* A, int64_t lda, const void* B,
                                     int64_t ldb, const float* beta, void* C, int64_t ldc);

/* bwgemmGemmEx with all three matrices IEEE half. */
BWGEMM_API bwgemmStatus_t bwgemmF16(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                    bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                    const float* alpha, const void* A, int64_t lda, const void* B,
                                    int64_t ldb, const float* beta, void* C, int64_t ldc);

/* Bytes of workspace that bwgemmGemmEx with these arguments would use if it could have any amount.
 * Launches nothing. *size is written on success. */
BWGEMM_API bwgemmStatus_t bwgemmGetWorkspaceSize(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda, const void* B,
    bwgemmDataType_t Btype, int64_t ldb, const void* beta, void* C, bwgemmDataType_t Ctype,
    int64_t ldc, bwgemmComputeType_t computeType, int algo, size_t* size);

/* Writes to text which kernel bwgemmGemmEx would choose with these arguments, its launch, its
 * predicted time, and why every other kernel lost or cannot serve. Writes at most size bytes, and
 * always terminates the text. The text describes the product in row order, C^T = op(B)^T * op(A)^T,
 * which the kernels compute: A of the text is B of the call, m of the text is n of the call, and
 * the reverse. Launches nothing. With a null handle the text is for a nominal H200 and B200, and
 * neither GPU nor driver is needed; scalars are then host pointers. */
BWGEMM_API bwgemmStatus_t bwgemmExplain(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda, const void* B,
    bwgemmDataType_t Btype, int64_t ldb, const void* beta, void* C, bwgemmDataType_t Ctype,
    int64_t ldc, bwgemmComputeType_t computeType, int algo, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_GEMM_H */
