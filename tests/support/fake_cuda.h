// SPDX-License-Identifier: Apache-2.0
// What tests ask the test double of libcuda (fake_libcuda*.cpp): what was called and launched, what
// is still alive, what was misused, and which calls are to fail. The double computes nothing:
// device memory is host memory, a launch is an entry in a log.
//
// Variables: FAKE_CUDA_DEVICE = h200 (default), h200_part (contexts have 12 SMs), b200, b300, a100,
// thor (10.1), h200_later (9.1), b300_later (10.4), none; FAKE_CUDA_VERSION = 13000;
// FAKE_CUDA_MISSING = an entry point that the driver is to lack.
#pragma once

#include <cuda.h>
#include <string_view>

#include "device/params.h"
#include "families/bias_gradient/params.h"
#include "families/copies/params.h"
#include "families/variants.h"

namespace bwgemm::test {

struct FakeLaunch {
  char kernel[96];
  unsigned grid, threads, cluster, smem_bytes;
  CUstream stream;
  CUcontext context;
  bool is_captured;                  // recorded into a graph, not run
  bool is_replayed;                  // run by cuGraphLaunch
  bool overlaps;                     // may begin before the launch in front of it ends
  MappedParams params;               // of a product, as far as it has them
  BiasGradientParams bias_gradient;  // of what is added up beside it
  CopiesParams copies;               // of operands in front of it

  bool is_copy() const { return std::string_view(kernel).ends_with("_copy"); }
  bool is_sums() const { return std::string_view(kernel).ends_with("_sums"); }
  bool is_unmapped() const {  // without tensor maps
    for (const KernelConfig& row : kernel_variants)
      if (kernel_name(row).view() == kernel) return bwgemm::is_unmapped(row);
    return false;
  }
};

enum class Live : int { memory, streams, libraries, contexts, primary_references, graphs, events };

// The functions that the double exports beside the driver's, as fake_cuda_<member>.
struct FakeCuda {
  // Forgets log, counts, misuses, faults and the thread's capture mode. What is alive stays alive.
  void (*reset)();

  long (*calls)(const char* entry);  // since reset; null: all entries together
  const char* (*call_name)(long n);  // of the n-th call since reset, from 1; null if there is none

  // A failing call has no effect, except that one which releases something does so and fails.
  void (*fail_call)(long n, CUresult result);              // the n-th from now on, from 1
  void (*fail_entry)(const char* entry, CUresult result);  // a literal; every call of it

  long (*launches)();
  const FakeLaunch* (*launch)(long n);  // from 0

  // What a launch takes between two events, in microseconds, until reset; null: 100 each.
  void (*time_launches)(double (*duration)(const FakeLaunch&));

  // How the calling thread is to treat captures: global unless somebody changed it.
  CUstreamCaptureMode (*capture_mode)();

  long (*live)(Live what);
  const char* (*misuse)(long n);  // from 0; null if there is none

  // From now on, until reset, what warm calls ask is answered without a lock, a check or an entry
  // in the log: what remains of a call's time is the library's.
  void (*be_quick)();

  // Called with the name of each entry in front of the call, on its thread, until reset. It may
  // make calls and wait for those of other threads.
  void (*on_call)(void (*hook)(const char* entry));

  // What is gone is remembered, so that its use is noticed: no longer. The next stream gets the
  // address of the last one of these.
  void (*forget_released)();
};

// The double, which must be what BWGEMM_LIBCUDA names; throws if it is not.
const FakeCuda& fake_cuda();

}  // namespace bwgemm::test
