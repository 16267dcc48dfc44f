/* SPDX-License-Identifier: Apache-2.0
 *
 * Algorithms and tuning. A part of bwgemm.h, whose rules hold here.
 */
#ifndef BWGEMM_TUNING_H
#define BWGEMM_TUNING_H

#include "bwgemm/matmul.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One way to compute a bwgemmMatmul. */
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
 * multiprocessors. A call of another thread that began earlier changes nothing of that. So do
 * handles that read the tuning cache, to which it is added.
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
 * a local file: it is only replaced as a whole, by one with its rights, and holds the newest 4096
 * entries; more are not read. What a symbolic link leads to is replaced, or made, not the link. A
 * file that cannot be read costs a line of the log, and nothing else; so does one that is read-only
 * or cannot be written. */
BWGEMM_API bwgemmStatus_t bwgemmSetTuningCache(bwgemmHandle_t handle, const char* path);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_TUNING_H */
