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
  int32_t splits;           /* splits of k whose sums are added up; 1: none */
  int32_t raster;           /* order of tiles: 0 grouped, 1 snake, 2 Hilbert curve */
  int32_t isDeterministic;  /* 1: in the sense of BWGEMM_DETERMINISM_BITWISE; so are all */
  int32_t isBatchInvariant; /* 1: in the sense of BWGEMM_DETERMINISM_BATCH_INVARIANT */
  int32_t copiesOperands;   /* into the workspace first; 1: what TMA cannot load, 2: one of two */
} bwgemmMatmulAlgo_t;

/* Lists the ways to compute the bwgemmMatmul with these arguments under the handle's settings.
 * Writes at most `capacity` of them to algos, and writes to *count how many there are. Best
 * predictions come first. On 9.0, measured times of such kernels put the first few in order.
 * The predictedMicroseconds of an algo is raised to that of the algo before it where it would be
 * less, and may then exceed what bwgemmMatmulExplain says.
 * algos[0].structSize is the distance between elements of algos. algos may be null if capacity is
 * 0. desc's algo is ignored. The list has only those numbers of splits that are worth trying, and
 * leaves out kernels that only show a technique. Launches nothing. *count is 0 where nothing is to
 * be computed.
 * bwgemmMatmul with such an algo uses exactly that algo. If the algo cannot serve the call, its
 * workspace or its determinism, the call returns NOT_SUPPORTED and the text says why. Numbers of no
 * list of this build are INVALID_VALUE. An algo takes precedence over BWGEMM_FORCE_KERNEL and its
 * like, and these take precedence over tuned results. An algo has no effect where A and B are not
 * read. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulGetAlgos(bwgemmHandle_t handle,
                                               const bwgemmMatmulDesc_t* desc, const void* alpha,
                                               const void* A, const void* B, const void* beta,
                                               const void* C, void* D, bwgemmMatmulAlgo_t* algos,
                                               size_t capacity, size_t* count);

/* A zero in any member but structSize stands for the default. A null pointer to the struct stands
 * for all defaults. */
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
 * and biasGradient hold what one bwgemmMatmul with *algo puts there. D has then been written many
 * times. Where beta * C is added to D itself, all launches but the last have other memory, of the
 * same size, for D and aux.
 * The candidates are the best predicted algos, as far as they are predicted to take at most three
 * times the best prediction. They are timed alternately on the handle's stream, and each launch
 * follows a write of twice the size of L2. Of the candidates whose median lies within the tolerance
 * of the least median, the best predicted one is chosen, so noise does not decide. All candidates
 * obey the settings of the handle and of desc, whose algo must be -1.
 * Later calls of the handle with an equal problem choose that algo. Problems are equal if they have
 * equal sizes, types, orders, batch, alignments up to 128 bytes, epilogue, determinism,
 * multiprocessors and workspace (as a power of two below 32 MiB, and as far as copies are divided
 * alike), and if the same scalars are zero or on the device. A call of another thread that
 * began earlier does not undo that. The result is also added to the tuning cache; handles that read
 * the cache choose that algo too.
 * Waits for the stream, so the stream must not be captured (EXECUTION_FAILED, nothing happens).
 * Captures of other streams stay valid. Allocates and frees device memory. NOT_SUPPORTED: arrays of
 * pointers with a beta other than 0, because C may be D then. algo may be null. */
BWGEMM_API bwgemmStatus_t bwgemmMatmulAutotune(bwgemmHandle_t handle,
                                               const bwgemmMatmulDesc_t* desc, const void* alpha,
                                               const void* A, const void* B, const void* beta,
                                               const void* C, void* D,
                                               const bwgemmAutotuneOptions_t* options,
                                               int64_t* algo);

/* Sets the file that keeps results of autotuning. Null or "" means no file. New handles use the
 * file that BWGEMM_TUNING_CACHE names. The call reads the file. Entries for this device and build
 * are used like the handle's own results, but never replace them. Other entries and damaged
 * lines are ignored. Processes may share a local file: it is only replaced as a whole, by a file
 * with the same rights. It holds the newest 4096 entries; older ones are not read. If the path is a
 * symbolic link, its target is replaced or made, not the link. If a file cannot be read or written,
 * for example because it is read-only, a line of the log says so, and nothing else happens. */
BWGEMM_API bwgemmStatus_t bwgemmSetTuningCache(bwgemmHandle_t handle, const char* path);

/* Whether GEMM calls and bwgemmMatmul measure by themselves. New handles have the mode that
 * BWGEMM_TUNE names: 1 is ON, frozen is FROZEN, anything else is OFF.
 * ON: the first call of a kind times up to eight of the best predicted algos on the handle's
 * stream, then runs with the fastest. Calls are of one kind if bwgemmMatmulAutotune takes their
 * problems for equal. The handle and the tuning cache keep the result as they keep one of
 * bwgemmMatmulAutotune. Later calls of the kind cost nothing more.
 * - The timed launches read A, B, C and what the epilogue reads. They write D and aux to memory of
 *   their own, use the workspace, and leave biasGradient out. Nothing else is written.
 * - Such a call waits for the stream, loads kernels, and allocates and frees device memory. Freeing
 *   may wait for all work of the context. Two algos are launched twice in any case; beyond that no
 *   launch begins when the earlier ones have taken 50 ms. The memory is that of the outputs and
 *   twice the size of L2, at most 512 MiB in all.
 * - A call that would need more memory, or whose predicted time is above 12.5 ms, is not measured.
 *   Neither is a call where something fails, such as an allocation. The call then runs with the
 *   predicted choice, without an error. The handle keeps that choice for the kind, so that later
 *   calls get the same bits. The file does not get it. A change of the mode, or
 *   bwgemmSetTuningCache, lets the kind be measured again.
 * - A call is not measured while its stream is captured, nor while another thread measures with the
 *   same handle. It runs with the predicted choice, which is not kept: the next call of the kind
 *   may measure, and until one does, each of them is planned anew, which allocates on the host.
 *   So no call waits for another thread's measurement, but a caller's lock around calls makes
 *   threads wait: so does that of the library in front of cuBLAS, which has one for each handle.
 *   Captures of other streams stay valid.
 * - A call with an algo of its own is not measured, nor is any under BWGEMM_FORCE_KERNEL and its
 *   like. bwgemmPreload measures nothing.
 * - Bits: another algo may add in another order. So the measurement decides about the bits of
 *   BITWISE handles, and two handles may come to different results. Handles with one file of the
 *   tuning cache agree on what was measured, because the file's first result of a kind counts for
 *   all. Ranks that must get the same bits must share one file. They get the same bits in any case
 *   if the file is not written any more and all of them are FROZEN.
 * FROZEN: no call measures. The file is read but not written, not even by bwgemmMatmulAutotune: its
 * result is then the handle's only.
 * bwgemmExplain says where a measurement decided. A program with more rights than its user ignores
 * BWGEMM_TUNE and BWGEMM_TUNING_CACHE. */
BWGEMM_API bwgemmStatus_t bwgemmSetTuneMode(bwgemmHandle_t handle, bwgemmTuneMode_t mode);
BWGEMM_API bwgemmStatus_t bwgemmGetTuneMode(bwgemmHandle_t handle, bwgemmTuneMode_t* mode);

#ifdef __cplusplus
}
#endif

#endif /* BWGEMM_TUNING_H */
