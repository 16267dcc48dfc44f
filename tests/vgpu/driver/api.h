// SPDX-License-Identifier: Apache-2.0
// <cuda.h>, whose functions are what this library defines and exports: they are visible though the
// project is compiled with hidden visibility. And forms of entry points that <cuda.h> of CUDA 13 no
// longer declares but drivers still export.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>

extern "C" {
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                        unsigned flags, CUdevice device);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count);
// <cuda.h> turns the plain name into that of the newer form.
CUresult vgpu_event_elapsed_time_v1(float* milliseconds, CUevent start,
                                    CUevent end) __asm__("cuEventElapsedTime");

// For tests that look at the library under test from outside.
size_t vgpu_finding_count();
// Instructions of warps that kernels have executed so far.
unsigned long long vgpu_instruction_count();
// Begins the random choices anew, as if the process had started with this seed and launched
// nothing.
void vgpu_seed(unsigned long long seed);
// Writes the files of BWGEMM_VGPU_COVERAGE now, and again at the end.
void vgpu_write_coverage();
}
#pragma GCC visibility pop
