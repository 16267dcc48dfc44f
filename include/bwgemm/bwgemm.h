/* SPDX-License-Identifier: Apache-2.0
 *
 * bwgemm: matrix multiplication for Hopper (compute capability 9.0) and Blackwell (10.0, 10.3)
 * GPUs. This header includes the other C headers of its folder, which are its parts. They are plain
 * C (C89 with <stdint.h>) and need no CUDA header, and no CUDA library at link time: the CUDA
 * driver is opened by the first bwgemmCreate.
 *
 * Conventions are those of BLAS and cuBLAS: column-major matrices, leading dimensions in elements,
 * enumerator values equal to cuBLAS's and cudaDataType's.
 *
 * Rules that hold for every function unless it says otherwise
 * - Errors: a status is returned; bwgemmGetLastErrorString() then names the argument, its value and
 *   the rule it broke. On an error nothing is written, but perhaps parts of D if the driver failed.
 * - Threads: any function may be called from any thread. GEMM calls, queries and
 *   bwgemmMatmulAutotune on one handle may run concurrently; setters and bwgemmDestroy need
 *   external locking against every other call on the same handle. A call whose kernel and workspace
 *   exist waits for another only while that one puts launches with the same workspace into a
 * stream.
 * - Structs: members are appended in later versions. structSize is sizeof to 4096, or 272 of the
 *   first bwgemmMatmulDesc_t, whose missing members are as in the INIT macro (else INVALID_VALUE).
 *   Members that the library does not know must be zero where it reads them (else NOT_SUPPORTED).
 * - Context: a handle belongs to one CUDA context; every call makes it current and restores the
 *   caller's before returning.
 * - Capture: GEMM calls may be captured into CUDA graphs, the very first use of a handle included.
 *   No call but bwgemmDestroy and bwgemmMatmulAutotune waits for the caller's work. The first call
 *   of a shape class on a stream may load a kernel, allocate device memory (which the driver may
 *   make wait for room on the device) and remember its plan on the host; later ones allocate
 *   nothing. Each capture has workspace of its own: see bwgemmSetWorkspace.
 * - Fork and exit: in a forked child calls on a handle of its parent return NOT_INITIALIZED and
 *   touch nothing, whatever other threads of the parent were doing. A process may exit with handles
 *   alive and threads inside calls.
 * - Lost contexts: after an error that breaks the context (a kernel of anybody read a bad address,
 *   say) bwgemmCreate in it, and GEMM calls with legal arguments, return EXECUTION_FAILED. So does
 *   bwgemmDestroy, which frees what can be freed. Nothing recovers such a context; handles of
 *   contexts that the driver did not lose go on working.
 */
#ifndef BWGEMM_BWGEMM_H
#define BWGEMM_BWGEMM_H

#include "bwgemm/gemm.h"
#include "bwgemm/matmul.h"
#include "bwgemm/tuning.h"
#include "bwgemm/types.h"

#define BWGEMM_VERSION_MAJOR 1
#define BWGEMM_VERSION_MINOR 0
#define BWGEMM_VERSION_PATCH 0
#define BWGEMM_VERSION 10000 /* MAJOR * 10000 + MINOR * 100 + PATCH */

#ifdef __cplusplus
extern "C" {
#endif

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
 * the handle's context (else INVALID_VALUE) and outlive its use: one that takes part in a capture
 * must live until the capture ends. A workspace set by bwgemmSetWorkspace is kept: see there. New
 * handles use the legacy default stream. */
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
 * stream, and keeps it until bwgemmDestroy, whether the stream still exists or not. With
 * CU_STREAM_PER_THREAD each thread has its own; once a thread has ended and its work is over,
 * another one takes it, for which calls on that stream record an event. Each stream of each capture
 * has its own likewise: so different graphs may run at the same time, but of the copies of one
 * capture (instances, child graphs) only one at a time. Later captures take it when the graph and
 * all copies are gone, which a user object of the graph tells; parameters read out of its nodes
 * must not be launched then. The first such capture makes the library stay loaded until the process
 * ends. Calls captured on one stream share workspace, because they follow each other in the graph.
 * If they no longer do (cuStreamUpdateCaptureDependencies with SET, nodes or edges taken out), each
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

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_BWGEMM_H */
