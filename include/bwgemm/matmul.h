/* SPDX-License-Identifier: Apache-2.0
 *
 * GEMM with all operations that can be fused to it. A part of bwgemm.h, whose rules hold here.
 */
#ifndef BWGEMM_MATMUL_H
#define BWGEMM_MATMUL_H

#include "bwgemm/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What bwgemmMatmul computes. Start from BWGEMM_MATMUL_DESC_INIT, a column-major bfloat16 product
 * without epilogue, and set what differs: at least m, n, k and the leading dimensions. The library
 * only reads the struct, and only during a call. Strides count elements between batches; a stride
 * of 0 uses the same matrix or vector for all batches. */
typedef struct bwgemmMatmulDesc_t {
  uint32_t structSize;                    /* sizeof(bwgemmMatmulDesc_t) */
  int32_t computeType;                    /* bwgemmComputeType_t */
  int32_t transa, transb;                 /* bwgemmOperation_t */
  int64_t m, n, k;                        /* op(A) is m x k, op(B) k x n, the product m x n */
  int32_t Atype, Btype, Ctype, Dtype;     /* bwgemmDataType_t */
  int32_t Aorder, Border, Corder, Dorder; /* bwgemmOrder_t, before op() */
  int64_t lda, ldb, ldc, ldd; /* >= max(1, rows as stored) in column order, columns in row order */
  int64_t batchCount;
  int64_t strideA, strideB, strideC, strideD; /* not used with arrays of pointers */
  int32_t batchMode, activation, gate; /* bwgemmBatchMode_t, bwgemmActivation_t, bwgemmGate_t */
  int32_t biasDim, biasType;           /* bwgemmDimension_t that it runs along, bwgemmDataType_t */
  int32_t auxMode, auxType, reserved;  /* bwgemmAuxMode_t, bwgemmDataType_t, 0 */
  const void* bias;                    /* device vector of m or n elements; null: none */
  const float *rowScale, *columnScale; /* device vectors of m and n elements; null: none */
  void* aux; /* device matrix, m x n in the order of D; null with BWGEMM_AUX_NONE only */
  int64_t strideBias, strideRowScale, strideColumnScale, strideAux, ldaux;
  int64_t algo;           /* -1: choose; otherwise one that bwgemmMatmulGetAlgos returned */
  void* workspace;        /* as in bwgemmSetWorkspace, for this call; null and a size of 0: the */
  uint64_t workspaceSize; /* handle's; null and a size of 1: none */
  int32_t biasGradientOf, biasGradientType; /* bwgemmBiasGradient_t, bwgemmDataType_t */
  void* biasGradient;         /* device vector of the sums; null with BWGEMM_BIAS_GRADIENT_NONE */
  int64_t strideBiasGradient; /* batches may not overlap */
  float clampLow, clampHigh;  /* bounds of BWGEMM_ACTIVATION_CLAMP, which alone looks at them */
} bwgemmMatmulDesc_t;

#define BWGEMM_MATMUL_DESC_INIT                                                                    \
  {                                                                                                \
    sizeof(bwgemmMatmulDesc_t), BWGEMM_COMPUTE_32F, 0, 0, 0, 0, 0, BWGEMM_R_16BF, BWGEMM_R_16BF,   \
        BWGEMM_R_16BF, BWGEMM_R_16BF, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,           \
        BWGEMM_R_16BF, 0, BWGEMM_R_16BF, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, -1, NULL, 0, 0, \
        BWGEMM_R_32F, NULL, 0, -3.40282347e+38f, 3.40282347e+38f                                   \
  }

/* D = epilogue(alpha * op(A) * op(B) + beta * C), batchCount times, on the handle's stream,
 * asynchronously. What bwgemmGemmEx says of zero sizes, zero scalars, alignment, overlap and
 * numerics holds here too, with D for the C that is written. For element (i, j) of the product, in
 * float:
 *   x = alpha * sum                         one rounding
 *   x = x * rowScale[i] * columnScale[j]    one each; the scale along D's contiguous dimension last
 *   x = x + bias[i or j]                    one rounding
 *   x = x + beta * C[i,j]                   one fused multiply-add
 *   aux[i,j] = x                            with BWGEMM_AUX_STORE
 *   D[i,j] = activation(x)                  by default
 *   D[i,j] = x * activation'(aux[i,j])      with BWGEMM_AUX_DERIVATIVE; relu'(0) is 0, clamp' is
 *                                           1 between the bounds, 0 at and beyond them
 *   D[i,j] = activation(x) * y              with a gate, for the pair (x, y)
 * D[i,j] is then rounded once, to the type of D.
 * All kernels compute exactly this. They may differ in the order of the additions in the sum. The
 * sum is 0 if k or alpha is 0.
 * - Activations of the float x are off by at most 2^-16 (gelu) or 2^-17 (silu, sigmoid) of their
 *   value, or by 2^-119 if that is more. Derivatives are off by at most 2^-18 (GELU_ERF) or 2^-21.
 *   NONE, RELU and CLAMP are exact. Values at infinity are the limits of the formulas: activations
 *   are +Inf at +Inf, derivatives are 1 there, and at -Inf both are 0 except those of NONE. SIGMOID
 *   is 1 at +Inf, CLAMP is the bound at either infinity, and their derivatives are 0 at both. At
 *   NaN activations and derivatives are NaN. Products are IEEE's: 0 times an infinite x or y is
 *   NaN.
 * - clampLow may not be more than clampHigh, and neither may be NaN (INVALID_VALUE). Either may be
 *   infinite. By default they are the least and the greatest finite float: set one of them for a
 *   bound on one side.
 * - beta may be null, which means 0 in either pointer mode. Where the host knows that beta is 0, C
 *   is not looked at. D may be C if types, orders, leading dimensions and strides are equal. Apart
 *   from that, memory that is written may not overlap memory that is read or written. This is not
 *   checked.
 * - Types: A and B are as in bwgemmGemmEx. C, D, bias, aux and biasGradient each have the type of A
 *   or R_32F.
 * - gate: D has half of the product's extent along D's contiguous dimension. This extent of the
 *   product must be even. bias, scales and aux have the product's full extent. A gate is
 *   NOT_SUPPORTED with a beta that is not known to be 0, and with BWGEMM_AUX_DERIVATIVE.
 * - BWGEMM_BATCH_MODE_POINTER_ARRAY: A, B, C and D are arrays as in bwgemmGemmBatchedEx. If D is C,
 *   both are the same array. All other matrices and vectors are strided all the same.
 * - biasGradient: a second kernel after the product adds it up in float and rounds it once. A sum
 *   of L terms is off by at most (150 + L / 2^14) * 2^-24 of the sum of their magnitudes. The order
 *   of additions depends on L alone: equal terms give equal bits, whatever the layout, alignment,
 *   batch, workspace, settings or device. The operands are read for biasGradient whatever alpha is;
 *   with k = 0 their sums are 0. Where nothing is launched (m, n or batchCount 0), biasGradient is
 *   not written. */
BWGEMM_API bwgemmStatus_t bwgemmMatmul(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                       const void* alpha, const void* A, const void* B,
                                       const void* beta, const void* C, void* D);

/* As bwgemmGetWorkspaceSize, for a bwgemmMatmul with these arguments. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulGetWorkspaceSize(bwgemmHandle_t handle,
                                                       const bwgemmMatmulDesc_t* desc,
                                                       const void* alpha, const void* A,
                                                       const void* B, const void* beta,
                                                       const void* C, void* D, size_t* size);

/* As bwgemmExplain, for a bwgemmMatmul with these arguments. The text describes the product with D
 * in row order. If Dorder is column, that is the transposed product: A and B, m and n, rows and
 * columns are swapped. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulExplain(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                              const void* alpha, const void* A, const void* B,
                                              const void* beta, const void* C, void* D, char* text,
                                              size_t size);

/* Loads and allocates what the first of certain calls would load and allocate, so that these calls
 * start as later ones do. It loads kernels and allocates memory for workspaces of the handle's
 * stream. It also allocates as much for captured calls; the next stream that needs it in a capture
 * takes it. Launches nothing; may be called during captures.
 * - desc null: for any call. Loads every kernel of the device, and allocates the most memory that a
 *   call may use.
 * - otherwise: for bwgemmMatmul with this struct, operands at multiples of 256 bytes, alpha not 0,
 *   and beta 0 or, where ldc is not 0, any. A pointer of the struct must be null if it will be null
 *   in those calls. The pointers are not followed. bwgemmGemmEx and its like are such calls, with D
 *   = C. */
BWGEMM_API bwgemmStatus_t bwgemmPreload(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_MATMUL_H */
