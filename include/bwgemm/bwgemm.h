/* SPDX-License-Identifier: Apache-2.0
 *
 * bwgemm: matrix multiplication for Hopper (compute capability 9.0) and Blackwell (10.0, 10.3)
 * GPUs. The only public header. Plain C (C89 with <stdint.h>), needs no CUDA header and no CUDA
 * library at link time: the CUDA driver is opened by the first bwgemmCreate.
 *
 * Conventions are those of BLAS and cuBLAS: column-major matrices, leading dimensions in elements,
 * enumerator values equal to cuBLAS's and cudaDataType's.
 *
 * Rules that hold for every function unless it says otherwise
 * - Errors: a status is returned; bwgemmGetLastErrorString() then names the argument, its value and
 *   the rule it broke. On an error nothing is written, but perhaps parts of D if the driver failed.
 * - Threads: any function may be called from any thread. GEMM calls on one handle may run
 *   concurrently; setters and bwgemmDestroy need external locking against every other call on the
 *   same handle.
 * - Context: a handle belongs to one CUDA context; every call makes it current and restores the
 *   caller's before returning.
 * - Capture: GEMM calls may be captured into CUDA graphs, the very first use of a handle included.
 *   No call but bwgemmDestroy waits for the caller's work. The first call of a shape class on a
 *   stream may load a kernel, allocate device memory and remember its plan on the host; later ones
 *   allocate nothing. Each capture has workspace of its own: see bwgemmSetWorkspace.
 * - Fork and exit: in a forked child calls on a handle of its parent return NOT_INITIALIZED and
 *   touch nothing. A process may exit with handles alive and threads inside calls.
 * - Lost contexts: after an error that breaks the context (a kernel of anybody read a bad address,
 *   say) bwgemmCreate in it, and GEMM calls with legal arguments, return EXECUTION_FAILED. So does
 *   bwgemmDestroy, which frees what can be freed. Nothing recovers such a context; handles of
 *   contexts that the driver did not lose go on working.
 */
#ifndef BWGEMM_BWGEMM_H
#define BWGEMM_BWGEMM_H

#include <stddef.h>
#include <stdint.h>

#define BWGEMM_VERSION_MAJOR 1
#define BWGEMM_VERSION_MINOR 0
#define BWGEMM_VERSION_PATCH 0
#define BWGEMM_VERSION 10000 /* MAJOR * 10000 + MINOR * 100 + PATCH */

#if defined(__GNUC__)
#define BWGEMM_API __attribute__((visibility("default")))
#else
#define BWGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types ---------------------------------------------------------------------------------- */

/* Values below 100 mean what they mean in cuBLAS (11 and 16 are reserved); ours start at 100. */
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
  BWGEMM_STATUS_DRIVER_TOO_OLD = 101,  /* it lacks an entry point; needs CUDA 12.8 or newer */
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

/* The leading dimension is between columns or between rows. */
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
  BWGEMM_ACTIVATION_SILU = 4       /* x / (1 + exp(-x)) */
} bwgemmActivation_t;

/* Pairs (x, y) of the product of which D has one element each, activation(x) * y, along the
 * dimension of D that is contiguous in memory: n in row order, m in column order. */
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

/* One element for each row, or for each column, of the product. */
typedef enum bwgemmDimension_t { BWGEMM_DIM_M = 0, BWGEMM_DIM_N = 1 } bwgemmDimension_t;

/* Whose sums biasGradient receives. */
typedef enum bwgemmBiasGradient_t {
  BWGEMM_BIAS_GRADIENT_NONE = 0,
  BWGEMM_BIAS_GRADIENT_D_ROWS = 1,    /* of each row of D, as it is stored */
  BWGEMM_BIAS_GRADIENT_D_COLUMNS = 2, /* of each column of D, as it is stored */
  BWGEMM_BIAS_GRADIENT_A = 3,         /* of each row of op(A), m sums over k */
  BWGEMM_BIAS_GRADIENT_B = 4          /* of each column of op(B), n sums over k */
} bwgemmBiasGradient_t;

typedef struct bwgemmContext* bwgemmHandle_t;
struct CUstream_st; /* what cudaStream_t and CUstream point to */

/* ---- version and errors: callable any time, also without a GPU ------------------------------- */

/* BWGEMM_VERSION of the library that is loaded. */
BWGEMM_API int bwgemmGetVersion(void);

/* One line: version, source revision, CUDA compiler, architectures. Static storage. */
BWGEMM_API const char* bwgemmGetBuildInfo(void);

/* "BWGEMM_STATUS_INVALID_VALUE", or "unknown status". Static storage, never null. */
BWGEMM_API const char* bwgemmStatusName(bwgemmStatus_t status);

/* A sentence, or "unknown status". Static storage, never null. */
BWGEMM_API const char* bwgemmStatusString(bwgemmStatus_t status);

/* Text of the last error that a bwgemm function returned on the calling thread; "" if there was
 * none. Successful calls leave it alone. Owned by the library, valid until the thread's next
 * failing call or its end, and until the library is unloaded. */
BWGEMM_API const char* bwgemmGetLastErrorString(void);

/* ---- kernels: callable any time, also without a GPU ------------------------------------------ */

/* Number of kernels of products in the library, over both architectures. */
BWGEMM_API int bwgemmKernelCount(void);

/* Name of kernel `index` in 0 .. count-1: the symbol that profilers show and that
 * BWGEMM_FORCE_KERNEL takes. Static storage; null if the index is out of range. */
BWGEMM_API const char* bwgemmKernelName(int index);

/* ---- handles -------------------------------------------------------------------------------- */

/* Creates a handle in the context current on the calling thread, or, if there is none, in the
 * primary context of device 0, which the handle then retains. Opens libcuda.so.1 the first time (or
 * the file named by BWGEMM_LIBCUDA). The caller owns *handle and ends it with bwgemmDestroy. Not to
 * be called while a stream of the thread is being captured in global or thread-local mode. Errors:
 * INVALID_VALUE (handle is null), NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, ARCH_MISMATCH (neither 9.0,
 * 10.0 nor 10.3), ALLOC_FAILED (also beyond 8192 handles), EXECUTION_FAILED (the context is lost),
 * INTERNAL_ERROR (any other failure of the driver). *handle is written only on success. */
BWGEMM_API bwgemmStatus_t bwgemmCreate(bwgemmHandle_t* handle);

/* Ends a handle. Work already launched completes first: a handle that launched anything waits for
 * its whole context. Graphs that captured calls of the handle must not be launched afterwards. Not
 * to be called while a stream of the context is being captured: the wait would fail and invalidate
 * the capture; the status is then INTERNAL_ERROR, and everything is freed all the same. Null
 * succeeds and does nothing. */
BWGEMM_API bwgemmStatus_t bwgemmDestroy(bwgemmHandle_t handle);

/* Sets the stream of the following calls; null is the legacy default stream, and the driver's
 * special values for the legacy (0x1) and per-thread (0x2) streams work. The stream must belong to
 * the handle's context (else INVALID_VALUE) and outlive its use. A workspace set by
 * bwgemmSetWorkspace is kept: see there. New handles use the legacy default stream. */
BWGEMM_API bwgemmStatus_t bwgemmSetStream(bwgemmHandle_t handle, struct CUstream_st* stream);
BWGEMM_API bwgemmStatus_t bwgemmGetStream(bwgemmHandle_t handle, struct CUstream_st** stream);

/* Device memory for the partial sums of later calls, and for copies of what TMA cannot load, which
 * with less of it a call may make and use in parts, several launches one after the other.
 * - (pointer, size): only this buffer, which the caller owns. It must be 256-byte aligned device
 *   memory of the handle's context and must outlive its use; calls that share it must not overlap:
 *   one stream orders them (captured calls too), nothing else is checked.
 * - (null, 0): none. Only kernels that need no workspace are used; one exists for every problem.
 * - (null, size > 0): the library's own, of which a call may use `size` bytes, and never more than
 *   32 MiB. New handles are set to (null, 32 MiB).
 * The library allocates its own on the first call of a stream that needs it, at most 40 MiB per
 * stream (for CU_STREAM_PER_THREAD: per thread), and keeps it until bwgemmDestroy, whether the
 * stream still exists or not. Each stream of each capture has its own likewise: so different graphs
 * may run at the same time, but of the copies of one capture (instances, child graphs) only one at
 * a time. Calls captured on one stream share it, because they follow each other in the graph. If
 * they no longer do (cuStreamUpdateCaptureDependencies with SET, nodes or edges taken out), each
 * needs a workspace of the caller's. */
BWGEMM_API bwgemmStatus_t bwgemmSetWorkspace(bwgemmHandle_t handle, void* workspace, size_t size);

/* What bwgemmSetWorkspace set last, or new handles are set to; passing it there restores it. */
BWGEMM_API bwgemmStatus_t bwgemmGetWorkspace(bwgemmHandle_t handle, void** workspace, size_t* size);

/* Whether alpha and beta are host or device pointers; new handles: host.
 * In device mode the kernel reads both scalars before anything else and decides then: with beta 0
 * it does not read C, with alpha 0 it does not read A and B. The scalars must stay valid until the
 * work has run, and a replayed graph reads them anew. */
BWGEMM_API bwgemmStatus_t bwgemmSetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t* mode);

/* Number of multiprocessors a call may occupy; 0 (new handles) or more than there are: all of the
 * context's. Negative: INVALID_VALUE. With fewer no kernel overlaps another of its own call. */
BWGEMM_API bwgemmStatus_t bwgemmSetSmCountTarget(bwgemmHandle_t handle, int smCount);
BWGEMM_API bwgemmStatus_t bwgemmGetSmCountTarget(bwgemmHandle_t handle, int* smCount);

/* Which equality of results is promised; new handles: BITWISE. BATCH_INVARIANT promises more:
 * element (i, j) of D depends bitwise on row i of op(A), column j of op(B), k, the scalars, the
 * types and what the epilogue has at (i, j), and on nothing else: not m, n, the batch, its place in
 * them, transpositions, alignment, workspace, multiprocessors or other work of the device. It does
 * without the kernels and slices of k that add in other orders, the fastest for few rows or long k.
 * On 10.x tcgen05.mma is assumed to add like mma.sync, as wgmma was measured to do on 9.0. */
BWGEMM_API bwgemmStatus_t bwgemmSetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t* mode);

/* 0 (new handles) or 1: whether kernels may start during the tail of the preceding kernel of the
 * stream, which saves latency of small problems. Memory is touched only behind its end: results and
 * order stay. Captures keep to it. Without an SM count target products always may behind copies. */
BWGEMM_API bwgemmStatus_t bwgemmSetProgrammaticLaunch(bwgemmHandle_t handle, int enable);
BWGEMM_API bwgemmStatus_t bwgemmGetProgrammaticLaunch(bwgemmHandle_t handle, int* enable);

/* ---- GEMM ----------------------------------------------------------------------------------- */

/* C = alpha * op(A) * op(B) + beta * C on the handle's stream, asynchronously.
 *
 * op(A) is m x k, op(B) k x n, C m x n; column-major with leading dimensions lda >= max(1, rows of
 * A as stored), ldb likewise, ldc >= max(1, m). Any m, n, k >= 0, any leading dimension and any
 * pointer aligned to its element is served.
 * - m = 0 or n = 0: success, nothing is launched, no pointer is looked at.
 * - beta = 0: C is not read. k = 0 or alpha = 0: C = beta * C, A and B are not read. Where the host
 *   knows that (k = 0, or alpha 0 in host pointer mode), A and B may be null or misaligned. With
 *   k > 0 in device pointer mode they must be legal pointers, since alpha might not be 0, but what
 *   they point to need not be readable if it is. alpha = 0 and beta = 1 rewrites C with itself.
 * - A, B and C may not overlap (results are undefined), but A and B may be the same memory.
 * Types (Atype = Btype): R_16BF or R_16F; Ctype the same type or R_32F; computeType COMPUTE_32F.
 * alpha and beta are float. Other known types: NOT_SUPPORTED; unknown ones: INVALID_VALUE.
 * algo: -1, 0..23 and 99..115 (cuBLAS's values) all mean "choose"; others: INVALID_VALUE.
 *
 * Numerics. Products of inputs are exact unless they leave float's range. Sums are formed in float
 * by the tensor cores, which align and truncate; with u = 2^-23 and S = sum over k of |a||b|, the
 * accumulated value differs from the exact sum by at most (k + 16) * (u * S + 2^-126). alpha * sum
 * + beta * c is one multiply and one fused multiply-add in float, then one round-to-nearest-even to
 * the type of C. NaN and Inf propagate as the formula says (subject to the rules for zero scalars
 * above; the payload of a NaN is not kept); denormal inputs and outputs are kept, float denormals
 * of partial sums may be flushed. A partial sum beyond float's range gives Inf or NaN even if the
 * exact sum is smaller; overflow of the result type gives Inf. */
BWGEMM_API bwgemmStatus_t bwgemmGemmEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                       bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                       const void* alpha, const void* A, bwgemmDataType_t Atype,
                                       int64_t lda, const void* B, bwgemmDataType_t Btype,
                                       int64_t ldb, const void* beta, void* C,
                                       bwgemmDataType_t Ctype, int64_t ldc,
                                       bwgemmComputeType_t computeType, int algo);

/* batchCount GEMMs, number i with A + i * strideA, B + i * strideB, C + i * strideC (in elements).
 * Strides are >= 0; 0 for A or B uses one matrix for all; strideC = 0 or batches of C that overlap
 * are INVALID_VALUE when batchCount > 1. batchCount 0 succeeds, above 2^31 - 1 is NOT_SUPPORTED. */
BWGEMM_API bwgemmStatus_t bwgemmGemmStridedBatchedEx(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
    int64_t strideA, const void* B, bwgemmDataType_t Btype, int64_t ldb, int64_t strideB,
    const void* beta, void* C, bwgemmDataType_t Ctype, int64_t ldc, int64_t strideC,
    int64_t batchCount, bwgemmComputeType_t computeType, int algo);

/* batchCount GEMMs whose matrices may lie anywhere: Aarray, Barray and Carray are arrays of
 * pointers in device memory, each aligned to its element, which the kernel reads: they must stay
 * valid until the work has run, a replayed graph reads them anew, and the host cannot check them.
 * Matrices of A and B may be repeated; matrices of C may not overlap. */
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

/* Writes to text (at most size bytes, always terminated) which kernel bwgemmGemmEx would choose
 * with these arguments, its launch, its predicted time, and why every other kernel lost or cannot
 * serve. It speaks of the product in row order, C^T = op(B)^T * op(A)^T, which the kernels compute:
 * its A is B of the call, its m is n, and the reverse. Launches nothing. With a null handle it
 * answers for a nominal H200 and B200, without GPU and driver; scalars are then host pointers. */
BWGEMM_API bwgemmStatus_t bwgemmExplain(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda, const void* B,
    bwgemmDataType_t Btype, int64_t ldb, const void* beta, void* C, bwgemmDataType_t Ctype,
    int64_t ldc, bwgemmComputeType_t computeType, int algo, char* text, size_t size);

/* ---- matmul: GEMM with all that can be fused to it ------------------------------------------- */

/* What bwgemmMatmul computes. Start from BWGEMM_MATMUL_DESC_INIT, a column-major bfloat16 product
 * without epilogue, and set what differs: m, n, k and leading dimensions at least. Only read during
 * a call. Members are appended in later versions: those that a shorter structSize lacks are as in
 * the INIT macro, and what the library does not know of a longer one must be zero (else
 * NOT_SUPPORTED). Strides are elements between batches; 0 means the same for all. */
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
} bwgemmMatmulDesc_t;

#define BWGEMM_MATMUL_DESC_INIT                                                                    \
  {                                                                                                \
    sizeof(bwgemmMatmulDesc_t), BWGEMM_COMPUTE_32F, 0, 0, 0, 0, 0, BWGEMM_R_16BF, BWGEMM_R_16BF,   \
        BWGEMM_R_16BF, BWGEMM_R_16BF, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,           \
        BWGEMM_R_16BF, 0, BWGEMM_R_16BF, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, -1, NULL, 0, 0, \
        BWGEMM_R_32F, NULL, 0                                                                      \
  }

/* D = epilogue(alpha * op(A) * op(B) + beta * C), batchCount times, on the handle's stream,
 * asynchronously. What bwgemmGemmEx says of zero sizes, zero scalars, alignment, overlap and
 * numerics holds, with D for the C that is written. Of element (i, j) of the product, in float:
 *   x = alpha * sum                         one rounding
 *   x = x * rowScale[i] * columnScale[j]    one each; that along D's contiguous dimension last
 *   x = x + beta * C[i,j]                   one fused multiply-add
 *   x = x + bias[i or j]                    one rounding
 *   aux[i,j] = x                            with BWGEMM_AUX_STORE
 *   D[i,j] = activation(x)                  or x * activation'(aux[i,j]) with AUX_DERIVATIVE (0 is
 *        relu's at 0), or activation(x) * y with a gate; then one rounding to the type of D.
 * All kernels do just that; they may differ in the order of the sum, which is 0 if k or alpha is.
 * - beta may be null, which is 0 in either pointer mode. Where the host knows beta to be 0, C is
 *   not looked at. D may be C if types, orders, leading dimensions and strides are equal; what is
 *   written may otherwise overlap nothing that is read or written, which is not checked.
 * - Types: A and B as in bwgemmGemmEx; C, D, bias, aux and biasGradient each that of A or R_32F.
 * - gate: D has half of the product's extent along its contiguous dimension, which is even; bias,
 *   scales and aux have all of it. NOT_SUPPORTED: beta not known to be 0; BWGEMM_AUX_DERIVATIVE.
 * - BWGEMM_BATCH_MODE_POINTER_ARRAY: A, B, C and D are arrays as in bwgemmGemmBatchedEx, and where
 *   D is C, the same array. What else there is, is strided all the same.
 * - biasGradient: added up in float by a second kernel behind the product, then rounded once. A sum
 *   of L terms is off by at most (150 + L / 2^14) * 2^-24 of the sum of their magnitudes. The order
 *   of additions follows from L alone: equal terms give equal bits, whatever the layout, alignment,
 *   batch, workspace, settings or device. Operands are read for it whatever alpha is; k = 0 makes
 *   their sums 0. Where nothing is launched (m, n or batchCount 0) it is not written. */
BWGEMM_API bwgemmStatus_t bwgemmMatmul(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                       const void* alpha, const void* A, const void* B,
                                       const void* beta, const void* C, void* D);

/* bwgemmGetWorkspaceSize of a bwgemmMatmul with these arguments. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulGetWorkspaceSize(bwgemmHandle_t handle,
                                                       const bwgemmMatmulDesc_t* desc,
                                                       const void* alpha, const void* A,
                                                       const void* B, const void* beta,
                                                       const void* C, void* D, size_t* size);

/* bwgemmExplain of a bwgemmMatmul with these arguments. It speaks of the product with D in row
 * order: if Dorder is column, A is B of the call, m is n, rows are columns, and the reverse. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulExplain(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc,
                                              const void* alpha, const void* A, const void* B,
                                              const void* beta, const void* C, void* D, char* text,
                                              size_t size);

/* Loads and allocates what the first of certain calls would, so that they start as later ones do:
 * kernels, and on the handle's stream memory for workspaces; and as much for captured calls: the
 * next stream to need it in a capture takes it. Launches nothing; may be called during captures.
 * - desc null: every kernel of the device, and the most memory that a call may use.
 * - otherwise: for bwgemmMatmul with this struct, operands at multiples of 256 bytes, alpha not 0,
 *   and beta 0 or, where ldc is not 0, any. The struct's pointers must be null where they will be,
 *   and are not followed. bwgemmGemmEx and its like are such calls, with D = C. */
BWGEMM_API bwgemmStatus_t bwgemmPreload(bwgemmHandle_t handle, const bwgemmMatmulDesc_t* desc);

/* ---- algorithms and tuning ------------------------------------------------------------------- */

/* One way to compute a bwgemmMatmul. Members are appended in later versions. */
typedef struct bwgemmMatmulAlgo_t {
  uint32_t structSize; /* sizeof(bwgemmMatmulAlgo_t) */
  int32_t kernel;      /* for bwgemmKernelName */
  int64_t algo;        /* for bwgemmMatmulDesc_t, in the same build of the library */
  double predictedMicroseconds;
  uint64_t workspaceSize;
  int32_t tileColumns;      /* of the kernel's tile, in its own terms */
  int32_t splits;           /* slices of k whose sums are added up; 1: none */
  int32_t raster;           /* order of tiles: 0 grouped, 1 snake, 2 Hilbert curve */
  int32_t isDeterministic;  /* 1: in the sense of BWGEMM_DETERMINISM_BITWISE; so are all */
  int32_t isBatchInvariant; /* 1: in the sense of BWGEMM_DETERMINISM_BATCH_INVARIANT */
  int32_t copiesOperands;   /* into the workspace first; 1: what TMA cannot load, 2: one of two */
} bwgemmMatmulAlgo_t;

/* Writes to algos, best prediction first, at most `capacity` of the ways to compute the
 * bwgemmMatmul with these arguments under the handle's settings, and to *count how many there are.
 * algos[0].structSize is the distance of the elements; algos may be null if capacity is 0. desc's
 * algo is ignored. Numbers of slices are those worth trying, kernels that only show a technique are
 * left out. Launches nothing. *count is 0 where nothing is to be computed.
 * bwgemmMatmul with such an algo uses exactly that, or says with NOT_SUPPORTED why it cannot serve
 * the call, its workspace or its determinism; numbers of no list of this build are INVALID_VALUE.
 * An algo goes before BWGEMM_FORCE_KERNEL and its like, these before what was tuned. It has no
 * effect where A and B are not read. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulGetAlgos(bwgemmHandle_t handle,
                                               const bwgemmMatmulDesc_t* desc, const void* alpha,
                                               const void* A, const void* B, const void* beta,
                                               const void* C, void* D, bwgemmMatmulAlgo_t* algos,
                                               size_t capacity, size_t* count);

/* Zeros, and a null pointer to it, stand for the defaults. */
typedef struct bwgemmAutotuneOptions_t {
  uint32_t structSize; /* sizeof(bwgemmAutotuneOptions_t) */
  int32_t candidates;  /* to time at most, the best predicted ones; 0: 16 */
  int32_t repetitions; /* launches of each that are timed; 0: 11 */
  int32_t reserved;    /* 0 */
  double tolerance;    /* part by which times must differ to count; 0: 0.02 */
} bwgemmAutotuneOptions_t;

/* clang-format off */
#define BWGEMM_AUTOTUNE_OPTIONS_INIT {(uint32_t)sizeof(bwgemmAutotuneOptions_t), 0, 0, 0, 0.0}
/* clang-format on */

/* Finds the fastest algo for the bwgemmMatmul with these arguments by running it. On return D, aux
 * and biasGradient hold what one bwgemmMatmul with *algo puts there; D was written many times then.
 * Where beta * C is added to D itself, all launches but the last write to other memory of D's size.
 * Timed are the best predicted candidates, up to three times the best prediction, in turn on the
 * handle's stream, each launch behind a write of twice the size of L2. Of those whose median lies
 * within the tolerance of the least, the best predicted is chosen: noise does not decide. All obey
 * the settings of the handle and of desc, whose algo must be -1.
 * Later calls of the handle with an equal problem choose it: equal in sizes, types, orders, batch,
 * alignments up to 128 bytes, epilogue, which scalars are zero or on the device, determinism and
 * multiprocessors. So do handles that read the tuning cache, to which it is added.
 * Waits for the stream, so it must not be captured (EXECUTION_FAILED, nothing happens); captures of
 * other streams stay valid. Allocates and frees device memory. NOT_SUPPORTED: arrays of pointers
 * with beta other than 0, where C may be D. algo may be null. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulAutotune(bwgemmHandle_t handle,
                                               const bwgemmMatmulDesc_t* desc, const void* alpha,
                                               const void* A, const void* B, const void* beta,
                                               const void* C, void* D,
                                               const bwgemmAutotuneOptions_t* options,
                                               int64_t* algo);

/* Sets the file that keeps results of autotuning; null or "": none; new handles: what
 * BWGEMM_TUNING_CACHE says. It is read now: entries for this device and build are used like own
 * results, of which they replace none; others, and damaged lines, are ignored. Processes may share
 * a local file: it is only replaced as a whole, and holds the newest 4096 entries. A file that
 * cannot be read or written costs a line of the log, and nothing else. */
BWGEMM_API bwgemmStatus_t bwgemmSetTuningCache(bwgemmHandle_t handle, const char* path);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_BWGEMM_H */
