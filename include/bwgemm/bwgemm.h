/* SPDX-License-Identifier: Apache-2.0
 *
 * bwgemm: matrix multiplication for Hopper (compute capability 9.0) and Blackwell (10.x) GPUs.
 * The only public header. Plain C (C89 with <stdint.h>), needs no CUDA header and no CUDA library
 * at link time: the CUDA driver is opened by the first bwgemmCreate.
 *
 * Conventions are those of BLAS and cuBLAS: column-major matrices, leading dimensions in elements,
 * enumerator values equal to cuBLAS's and cudaDataType's.
 *
 * Rules that hold for every function unless it says otherwise
 * - Errors: a status is returned; bwgemmGetLastErrorString() then names the argument, its value and
 *   the rule it broke. On an error nothing is launched and no output argument is written.
 * - Threads: any function may be called from any thread. GEMM calls on one handle may run
 *   concurrently; setters and bwgemmDestroy need external locking against every other call on the
 *   same handle.
 * - Context: a handle belongs to one CUDA context; every call makes it current and restores the
 *   caller's before returning.
 * - Capture: GEMM calls may be captured into CUDA graphs, the very first use of a handle included.
 *   No call but bwgemmDestroy waits for the caller's work. The first call of a shape class on a
 *   stream may load a kernel, allocate device memory and remember its plan on the host; later ones
 *   allocate nothing, unless they are captured and need workspace.
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
  BWGEMM_STATUS_NOT_INITIALIZED = 1, /* the handle is null or was destroyed */
  BWGEMM_STATUS_ALLOC_FAILED = 3,    /* host or device memory is exhausted */
  BWGEMM_STATUS_INVALID_VALUE = 7,   /* an argument breaks its documented rule */
  BWGEMM_STATUS_ARCH_MISMATCH = 8,   /* the device is neither 9.0 nor 10.x */
  BWGEMM_STATUS_MAPPING_ERROR = 11,  /* reserved */
  BWGEMM_STATUS_EXECUTION_FAILED =
      13,                            /* the CUDA driver refused a launch, or the context is lost */
  BWGEMM_STATUS_INTERNAL_ERROR = 14, /* a driver call failed that should not */
  BWGEMM_STATUS_NOT_SUPPORTED = 15,  /* legal arguments, but no kernel serves them */
  BWGEMM_STATUS_LICENSE_ERROR = 16,  /* reserved */
  BWGEMM_STATUS_NO_DRIVER = 100,     /* libcuda.so.1 cannot be opened */
  BWGEMM_STATUS_DRIVER_TOO_OLD =
      101,                       /* the driver lacks an entry point; needs CUDA 12.8 or newer */
  BWGEMM_STATUS_NO_DEVICE = 102, /* the driver works but shows no device */
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
  BWGEMM_POINTER_MODE_HOST =
      0, /* alpha and beta point to host memory, read before the call returns */
  BWGEMM_POINTER_MODE_DEVICE = 1, /* alpha and beta point to device memory, read by the kernel */
  BWGEMM_POINTER_MODE_FORCE_INT = 0x7fffffff
} bwgemmPointerMode_t;

typedef enum bwgemmDeterminism_t {
  BWGEMM_DETERMINISM_BITWISE = 0, /* same build, settings, arguments and alignment: same bits */
  BWGEMM_DETERMINISM_FORCE_INT = 0x7fffffff
} bwgemmDeterminism_t;

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

/* Number of kernels in the library, over both architectures. */
BWGEMM_API int bwgemmKernelCount(void);

/* Name of kernel `index` in 0 .. count-1: the symbol that profilers show and that
 * BWGEMM_FORCE_KERNEL takes. Static storage; null if the index is out of range. */
BWGEMM_API const char* bwgemmKernelName(int index);

/* ---- handles -------------------------------------------------------------------------------- */

/* Creates a handle in the context current on the calling thread, or, if there is none, in the
 * primary context of device 0, which the handle then retains. Opens libcuda.so.1 the first time (or
 * the file named by BWGEMM_LIBCUDA). The caller owns *handle and ends it with bwgemmDestroy. Not to
 * be called while a stream of the thread is being captured in global or thread-local mode. Errors:
 * INVALID_VALUE (handle is null), NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, ARCH_MISMATCH,
 * ALLOC_FAILED (also beyond 8192 handles), EXECUTION_FAILED (the context is lost), INTERNAL_ERROR
 * (any other failure of the driver). *handle is written only on success. */
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

/* Device memory for the partial sums of the calls that follow.
 * - (pointer, size): only this buffer, which the caller owns. It must be 256-byte aligned device
 *   memory of the handle's context and must outlive its use; calls that share it must not overlap:
 *   one stream orders them (captured calls too), nothing else is checked.
 * - (null, 0): none. Only kernels that need no workspace are used; one exists for every problem.
 * - (null, size > 0): the library's own, of which a call may use `size` bytes, and never more than
 *   24 MiB. New handles are set to (null, 24 MiB).
 * The library allocates its own on the first call of a stream that needs it, at most 32 MiB per
 * stream (for CU_STREAM_PER_THREAD: per thread), and keeps it until bwgemmDestroy, whether the
 * stream still exists or not. Each captured call that needs some has its own, also until
 * bwgemmDestroy: so different graphs may run at the same time, but of several that were
 * instantiated from one capture only one at a time. */
BWGEMM_API bwgemmStatus_t bwgemmSetWorkspace(bwgemmHandle_t handle, void* workspace, size_t size);

/* What bwgemmSetWorkspace set last, or what new handles are set to: passing it to
 * bwgemmSetWorkspace restores it. */
BWGEMM_API bwgemmStatus_t bwgemmGetWorkspace(bwgemmHandle_t handle, void** workspace, size_t* size);

/* Whether alpha and beta are host or device pointers; new handles: host.
 * In device mode the kernel reads both scalars before anything else and decides then: with beta 0
 * it does not read C, with alpha 0 it does not read A and B. The scalars must stay valid until the
 * work has run, and a replayed graph reads them anew. */
BWGEMM_API bwgemmStatus_t bwgemmSetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t* mode);

/* Number of multiprocessors a call may occupy; 0 (new handles) means all of the context's.
 * Negative: INVALID_VALUE; more than there are means all. */
BWGEMM_API bwgemmStatus_t bwgemmSetSmCountTarget(bwgemmHandle_t handle, int smCount);
BWGEMM_API bwgemmStatus_t bwgemmGetSmCountTarget(bwgemmHandle_t handle, int* smCount);

/* Which equality of results is promised; new handles: BITWISE, the only value of this version. */
BWGEMM_API bwgemmStatus_t bwgemmSetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t* mode);

/* 0 (new handles) or 1: whether kernels may start during the tail of the preceding kernel of the
 * stream, which saves part of the launch latency of small problems that follow each other. Memory
 * is touched only after the preceding kernel has ended, so results and order are the same; captured
 * launches carry the setting into the graph. */
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
 * - A, B and C may not overlap, except that A and B may be the same memory; results are undefined
 *   otherwise.
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
 * Strides are >= 0; strideA = 0 or strideB = 0 uses one matrix for all; strideC = 0 or batches of C
 * that overlap are INVALID_VALUE when batchCount > 1. batchCount 0 succeeds, more than 2^31 - 1 is
 * NOT_SUPPORTED. */
BWGEMM_API bwgemmStatus_t bwgemmGemmStridedBatchedEx(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
    int64_t strideA, const void* B, bwgemmDataType_t Btype, int64_t ldb, int64_t strideB,
    const void* beta, void* C, bwgemmDataType_t Ctype, int64_t ldc, int64_t strideC,
    int64_t batchCount, bwgemmComputeType_t computeType, int algo);

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
 * answers for a nominal H200 and a nominal B200 and needs no GPU and no driver; scalars are then
 * host pointers. */
BWGEMM_API bwgemmStatus_t bwgemmExplain(
    bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda, const void* B,
    bwgemmDataType_t Btype, int64_t ldb, const void* beta, void* C, bwgemmDataType_t Ctype,
    int64_t ldc, bwgemmComputeType_t computeType, int algo, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_BWGEMM_H */
