/* SPDX-License-Identifier: Apache-2.0
 *
 * bwgemm: matrix multiplication for Hopper (compute capability 9.0) and Blackwell (10.0, 10.3)
 * GPUs. This header includes the other C headers of its folder, which are its parts. They are plain
 * C (C89 with <stdint.h>). They need no CUDA header, and no CUDA library at link time: the first
 * bwgemmCreate opens the CUDA driver.
 *
 * Conventions are those of BLAS and cuBLAS: matrices are column-major, leading dimensions count
 * elements, and enumerators have the values of cuBLAS's and of cudaDataType.
 *
 * Rules that hold for every function unless it says otherwise
 * - Errors: a function that can fail returns a status. bwgemmGetLastErrorString() then names the
 *   argument, its value and the rule it broke. A call that returns an error has written nothing,
 *   but if the driver failed, parts of D may be written.
 * - Threads: any function may be called from any thread. GEMM calls, queries and
 *   bwgemmMatmulAutotune on one handle may run concurrently. Setters and bwgemmDestroy need
 *   external locking against every other call on the same handle. A call whose kernel and workspace
 *   exist waits for another call only while that one puts launches with the same workspace into a
 *   stream.
 * - Structs: later versions append members. structSize must lie between the struct's sizeof in this
 *   version and 4096. 272 and 296, the sizes of earlier versions of bwgemmMatmulDesc_t, are
 *   accepted too; the members missing there are as in the INIT macro. Any other structSize is
 *   INVALID_VALUE. Members that the library does not know must be zero where it reads them (else
 *   NOT_SUPPORTED).
 * - Context: a handle belongs to one CUDA context. Every call makes that context current, and
 *   restores the caller's context before it returns.
 * - Capture: GEMM calls may be captured into CUDA graphs, the very first use of a handle
 *   included. No call waits for the caller's work but bwgemmDestroy, bwgemmMatmulAutotune and, with
 *   BWGEMM_TUNE_ON, the first GEMM call of a kind. The first call of a shape class on a stream may
 *   load a kernel, allocate device memory and remember its plan on the host. The driver may make
 *   that allocation wait until the device has room. Later calls of the class allocate nothing. Each
 *   capture has workspace of its own: see bwgemmSetWorkspace.
 * - Fork and exit: in a forked child, calls on a handle of the parent return NOT_INITIALIZED and
 *   touch nothing, whatever other threads of the parent were doing. A process may exit while
 *   handles exist and threads are inside calls.
 * - Lost contexts: an error may break the context, for example a bad address in a kernel of any
 *   library. bwgemmCreate in that context, and GEMM calls with legal arguments, then return
 *   EXECUTION_FAILED. So does bwgemmDestroy, which frees what can be freed. Nothing recovers such a
 *   context. Handles of other contexts go on working.
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

/* One line with the version, source revision, CUDA compiler and architectures. Static storage. */
BWGEMM_API const char* bwgemmGetBuildInfo(void);

/* "BWGEMM_STATUS_INVALID_VALUE", or "unknown status". Static storage, never null. */
BWGEMM_API const char* bwgemmStatusName(bwgemmStatus_t status);

/* A sentence, or "unknown status". Static storage, never null. */
BWGEMM_API const char* bwgemmStatusString(bwgemmStatus_t status);

/* Text of the last error that a bwgemm function returned on the calling thread; "" if there was
 * none. A successful call leaves the text alone. The library owns the text. It is valid until the
 * thread's next failing call, until the thread ends, or until the library is unloaded. */
BWGEMM_API const char* bwgemmGetLastErrorString(void);

/* ---- kernels: callable any time, also without a GPU ------------------------------------------ */
/* Number of GEMM kernels in the library, over both architectures. */
BWGEMM_API int bwgemmKernelCount(void);

/* Name of kernel `index` in 0 .. count-1: the symbol that profilers show and that
 * BWGEMM_FORCE_KERNEL takes. Static storage; null if the index is out of range. */
BWGEMM_API const char* bwgemmKernelName(int index);

/* ---- handles -------------------------------------------------------------------------------- */
/* Creates a handle in the context that is current on the calling thread. If there is none, the
 * handle is created in the primary context of device 0, which it then retains. The first call opens
 * libcuda.so.1, or the file that BWGEMM_LIBCUDA names. The caller owns *handle and ends it with
 * bwgemmDestroy. The function must not be called while a stream of the thread is being captured in
 * global or thread-local mode. *handle is written only on success. Errors: INVALID_VALUE (handle is
 * null), NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, ARCH_MISMATCH (neither 9.0, 10.0 nor 10.3),
 * ALLOC_FAILED (also beyond 8192 handles), EXECUTION_FAILED (the context is lost), INTERNAL_ERROR
 * (any other failure of the driver). */
BWGEMM_API bwgemmStatus_t bwgemmCreate(bwgemmHandle_t* handle);

/* Ends a handle. Work already launched completes first: if the handle launched anything, the call
 * waits for the whole context of the handle. Graphs that captured calls of the handle must not be
 * launched afterwards. The function must not be called while a stream of the context is being
 * captured: the wait would fail and invalidate the capture. The status is then INTERNAL_ERROR, and
 * everything is freed all the same. A null handle succeeds, and nothing happens. */
BWGEMM_API bwgemmStatus_t bwgemmDestroy(bwgemmHandle_t handle);

/* Sets the stream of the following calls. Null is the legacy default stream, which new handles use.
 * The driver's special values for the legacy (0x1) and per-thread (0x2) streams work. The stream
 * must belong to the handle's context (else INVALID_VALUE) and outlive its use. A stream that takes
 * part in a capture must live until the capture ends. A workspace set by bwgemmSetWorkspace is
 * kept: see there. */
BWGEMM_API bwgemmStatus_t bwgemmSetStream(bwgemmHandle_t handle, struct CUstream_st* stream);
BWGEMM_API bwgemmStatus_t bwgemmGetStream(bwgemmHandle_t handle, struct CUstream_st** stream);

/* Device memory for later calls: for partial sums, and for copies of operands that TMA cannot load.
 * If the memory is too small for whole copies, a call may copy and multiply in parts, by several
 * launches one after the other.
 * - (pointer, size): calls use only this buffer, which the caller owns. It must be 256-byte aligned
 *   device memory of the handle's context and must outlive its use. Calls that share the buffer
 *   must not overlap. Calls on one stream follow each other, captured calls too. Nothing else is
 *   checked.
 * - (null, 0): calls have no workspace. Only kernels that need none are used; there is one for
 *   every problem.
 * - (null, size > 0): calls use the library's own memory, at most `size` bytes each, and never more
 *   than 32 MiB. New handles are set to (null, 32 MiB).
 * The library allocates its own memory on the first call of a stream that needs it, at most 40 MiB
 * per stream. It keeps the memory until bwgemmDestroy, whether the stream still exists or not. With
 * CU_STREAM_PER_THREAD each thread has memory of its own. Once a thread has ended and its work is
 * over, another thread takes its memory; for this, calls on that stream record an event.
 * Each stream of each capture has memory of its own as well. Different graphs may therefore run at
 * the same time, but the copies of one capture (instances, child graphs) only one at a time. Later
 * captures take that memory when the graph and all its copies are gone, which a user object of the
 * graph tells the library. Parameters read out of the graph's nodes must not be launched after
 * that. The first such capture makes the library stay loaded until the process ends. Calls captured
 * on one stream share workspace, because they follow each other in the graph. If they no longer
 * follow each other (cuStreamUpdateCaptureDependencies with SET, nodes or edges taken out), each of
 * these calls needs a workspace of the caller's. */
BWGEMM_API bwgemmStatus_t bwgemmSetWorkspace(bwgemmHandle_t handle, void* workspace, size_t size);

/* Returns what bwgemmSetWorkspace set last, or what new handles are set to. Passing both values to
 * bwgemmSetWorkspace restores that setting. */
BWGEMM_API bwgemmStatus_t bwgemmGetWorkspace(bwgemmHandle_t handle, void** workspace, size_t* size);

/* Whether alpha and beta are host or device pointers. New handles use host pointers.
 * In device mode the kernel reads both scalars before anything else. If beta is 0, it does not read
 * C. If alpha is 0, it does not read A and B. The scalars must stay valid until the work has run. A
 * replayed graph reads them again. */
BWGEMM_API bwgemmStatus_t bwgemmSetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t* mode);

/* Number of multiprocessors that a call may occupy. 0, the value of new handles, and any number
 * above that of the context mean all multiprocessors of the context. A negative number is
 * INVALID_VALUE. With fewer than all multiprocessors, no kernel overlaps another kernel of the same
 * call. */
BWGEMM_API bwgemmStatus_t bwgemmSetSmCountTarget(bwgemmHandle_t handle, int smCount);
BWGEMM_API bwgemmStatus_t bwgemmGetSmCountTarget(bwgemmHandle_t handle, int* smCount);

/* Which equality of results is promised. New handles promise BITWISE. BATCH_INVARIANT promises
 * more: element (i, j) of D depends bitwise on row i of op(A), column j of op(B), k, the scalars,
 * the types and what the epilogue has at (i, j), and on nothing else. It does not depend on m, n,
 * the batch, the element's place in them, transpositions, alignment, workspace, multiprocessors or
 * other work of the device. BATCH_INVARIANT excludes split k and the kernels that add in another
 * order. These are the fastest for few rows or long k. On 10.x it is assumed that tcgen05.mma adds
 * like mma.sync, as wgmma was measured to do on 9.0. */
BWGEMM_API bwgemmStatus_t bwgemmSetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t* mode);

/* Whether kernels may start during the tail of the preceding kernel of the stream, which hides most
 * of a launch's latency: 0 never, 1 always, -1 where the library expects a gain. New handles have
 * -1, or what BWGEMM_PROGRAMMATIC_LAUNCH says. With -1, all kernels but long ones behind short ones
 * start early on 9.0, and none on 10.x or with an SM count target. Short GEMM kernels (up to 6 us,
 * some up to 15) let the next kernel start as soon as they have loaded all operands, others of up
 * to 15 us when they have multiplied them, others when they end. With 1 all GEMM kernels, short
 * ones too, let it start when they have multiplied; on 10.x when they have loaded. A kernel
 * that starts early touches memory only after the end of the preceding kernel, so results and order
 * stay the same. Captured calls keep the setting: their graph may have programmatic edges, not
 * always the same ones, which queries without edge data do not tell. Independently of the setting,
 * a GEMM kernel may always start during the tail of the copy kernel of its own call, unless an SM
 * count target is set. A kernel of the program that is launched with programmatic stream
 * serialization, and ends without griddepcontrol.wait, must stand neither between two calls nor
 * between a call and what the call depends on: a call would wait for that kernel alone. Streams
 * with such kernels need 0. */
BWGEMM_API bwgemmStatus_t bwgemmSetProgrammaticLaunch(bwgemmHandle_t handle, int enable);
BWGEMM_API bwgemmStatus_t bwgemmGetProgrammaticLaunch(bwgemmHandle_t handle, int* enable);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_BWGEMM_H */
