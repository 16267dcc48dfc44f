/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and enumerators of bwgemm.h, which includes this file.
 */
#ifndef BWGEMM_TYPES_H
#define BWGEMM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BWGEMM_API __attribute__((visibility("default")))
#else
#define BWGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Values below 100 mean what they mean in cuBLAS (11 and 16 are reserved). Statuses that only
 * bwgemm has start at 100. */
typedef enum bwgemmStatus_t {
  BWGEMM_STATUS_SUCCESS = 0,
  BWGEMM_STATUS_NOT_INITIALIZED = 1,   /* the handle is null or was destroyed */
  BWGEMM_STATUS_ALLOC_FAILED = 3,      /* host or device memory is exhausted */
  BWGEMM_STATUS_INVALID_VALUE = 7,     /* an argument breaks its documented rule */
  BWGEMM_STATUS_ARCH_MISMATCH = 8,     /* the device is not 9.0, 10.0 or 10.3 */
  BWGEMM_STATUS_MAPPING_ERROR = 11,    /* reserved */
  BWGEMM_STATUS_EXECUTION_FAILED = 13, /* the driver refused a launch, or the context is lost */
  BWGEMM_STATUS_INTERNAL_ERROR = 14,   /* a driver call failed that should not */
  BWGEMM_STATUS_NOT_SUPPORTED = 15,    /* legal arguments, but no kernel serves them */
  BWGEMM_STATUS_LICENSE_ERROR = 16,    /* reserved */
  BWGEMM_STATUS_NO_DRIVER = 100,       /* libcuda.so.1 cannot be opened */
  BWGEMM_STATUS_DRIVER_TOO_OLD = 101,  /* the driver lacks entry points; needs CUDA 12.8 or newer */
  BWGEMM_STATUS_NO_DEVICE = 102,       /* the driver works but shows no device */
  BWGEMM_STATUS_FORCE_INT = 0x7fffffff
} bwgemmStatus_t;

typedef enum bwgemmOperation_t {
  BWGEMM_OP_N = 0, /* as stored */
  BWGEMM_OP_T = 1, /* transposed */
  BWGEMM_OP_C = 2, /* conjugate transposed: the same as T for the real types served here */
  BWGEMM_OP_FORCE_INT = 0x7fffffff
} bwgemmOperation_t;

typedef enum bwgemmDataType_t {
  BWGEMM_R_32F = 0,
  BWGEMM_R_16F = 2,
  BWGEMM_R_16BF = 14,
  BWGEMM_R_8F_E4M3 = 28, /* NOT_SUPPORTED in this version */
  BWGEMM_R_8F_E5M2 = 29, /* NOT_SUPPORTED in this version */
  BWGEMM_DATA_TYPE_FORCE_INT = 0x7fffffff
} bwgemmDataType_t;

typedef enum bwgemmComputeType_t {
  BWGEMM_COMPUTE_32F = 68, /* products exact, accumulation and scaling in float */
  BWGEMM_COMPUTE_FORCE_INT = 0x7fffffff
} bwgemmComputeType_t;

typedef enum bwgemmPointerMode_t {
  BWGEMM_POINTER_MODE_HOST = 0,   /* alpha and beta: host memory, read before the call returns */
  BWGEMM_POINTER_MODE_DEVICE = 1, /* alpha and beta: device memory, read by the kernel */
  BWGEMM_POINTER_MODE_FORCE_INT = 0x7fffffff
} bwgemmPointerMode_t;

typedef enum bwgemmDeterminism_t {
  BWGEMM_DETERMINISM_BITWISE = 0, /* same build, settings, arguments and alignment: same bits */
  BWGEMM_DETERMINISM_BATCH_INVARIANT = 1, /* also: an element's bits depend on its own data alone */
  BWGEMM_DETERMINISM_FORCE_INT = 0x7fffffff
} bwgemmDeterminism_t;

/* Whether calls measure: see bwgemmSetTuneMode. */
typedef enum bwgemmTuneMode_t {
  BWGEMM_TUNE_OFF = 0,    /* no */
  BWGEMM_TUNE_ON = 1,     /* the first call of a kind does */
  BWGEMM_TUNE_FROZEN = 2, /* no, and the tuning cache's file is only read */
  BWGEMM_TUNE_FORCE_INT = 0x7fffffff
} bwgemmTuneMode_t;

/* Whether the leading dimension is the distance between columns or between rows. */
typedef enum bwgemmOrder_t { BWGEMM_ORDER_COL = 0, BWGEMM_ORDER_ROW = 1 } bwgemmOrder_t;

typedef enum bwgemmBatchMode_t {
  BWGEMM_BATCH_MODE_STRIDED = 0,      /* matrices a stride apart */
  BWGEMM_BATCH_MODE_POINTER_ARRAY = 1 /* matrices by arrays of pointers in device memory */
} bwgemmBatchMode_t;

typedef enum bwgemmActivation_t {
  BWGEMM_ACTIVATION_NONE = 0,      /* x */
  BWGEMM_ACTIVATION_RELU = 1,      /* max(x, 0) */
  BWGEMM_ACTIVATION_GELU_TANH = 2, /* x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) */
  BWGEMM_ACTIVATION_GELU_ERF = 3,  /* x/2 * (1 + erf(x / sqrt(2))) */
  BWGEMM_ACTIVATION_SILU = 4,      /* x / (1 + exp(-x)) */
  BWGEMM_ACTIVATION_SIGMOID = 5,   /* 1 / (1 + exp(-x)) */
  BWGEMM_ACTIVATION_CLAMP = 6      /* min(max(x, clampLow), clampHigh) */
} bwgemmActivation_t;

/* With a gate, each element of D is activation(x) * y of a pair (x, y) of elements of the product.
 * The elements of a pair lie along the dimension of D that is contiguous in memory: n in row order,
 * m in column order. */
typedef enum bwgemmGate_t {
  BWGEMM_GATE_NONE = 0,
  BWGEMM_GATE_INTERLEAVED = 1, /* element j of D is made of 2j and 2j + 1 of the product */
  BWGEMM_GATE_STACKED = 2      /* element j of D is made of j and j + half the extent */
} bwgemmGate_t;

typedef enum bwgemmAuxMode_t {
  BWGEMM_AUX_NONE = 0,
  BWGEMM_AUX_STORE = 1,     /* written: what the activation or the gate is applied to */
  BWGEMM_AUX_DERIVATIVE = 2 /* read: D is x times the derivative at aux of an activation */
} bwgemmAuxMode_t;

/* Whether a vector has one element for each row of the product, or one for each column. */
typedef enum bwgemmDimension_t { BWGEMM_DIM_M = 0, BWGEMM_DIM_N = 1 } bwgemmDimension_t;

/* Which sums biasGradient receives. */
typedef enum bwgemmBiasGradient_t {
  BWGEMM_BIAS_GRADIENT_NONE = 0,
  BWGEMM_BIAS_GRADIENT_D_ROWS = 1,    /* of each row of D, as it is stored */
  BWGEMM_BIAS_GRADIENT_D_COLUMNS = 2, /* of each column of D, as it is stored */
  BWGEMM_BIAS_GRADIENT_A = 3,         /* of each row of op(A), m sums over k */
  BWGEMM_BIAS_GRADIENT_B = 4          /* of each column of op(B), n sums over k */
} bwgemmBiasGradient_t;

typedef struct bwgemmContext* bwgemmHandle_t;
struct CUstream_st; /* what cudaStream_t and CUstream point to */

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_TYPES_H */
