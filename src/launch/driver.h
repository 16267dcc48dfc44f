// SPDX-License-Identifier: Apache-2.0
// Driver: the entry points of libcuda.so.1 that the library uses, found at run time, so that the
// library loads on machines without a driver. Members are named as in the driver's documentation.
// When it is opened, and from which file, api/ decides.
#pragma once

#include <cuda.h>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace bwgemm {

// The opened driver library. It stays open for the life of the process: the driver runs threads and
// exit handlers of its own.
class DriverLibrary {
 public:
  explicit DriverLibrary(
      const char* path);  // kept for messages: alive as long as entries are found

  // The function of this name in the form that CUDA had in `cuda_version` (12040 is 12.4). Null if
  // there is none.
  void* find(const char* name, int cuda_version) const;
  // The same, but its absence is Error(DRIVER_TOO_OLD).
  void* require(const char* name, int cuda_version) const;

 private:
  const char* path_;
  int version_ = 0;
  decltype(&::cuGetProcAddress) get_proc_address_ = nullptr;
};

template <class Function>
class Entry;

template <class... Arguments>
class Entry<CUresult(Arguments...)> {
 public:
  using Function = CUresult(Arguments...);

  Entry(const DriverLibrary& library, const char* name, int cuda_version)
      : name_(name), function_(reinterpret_cast<Function*>(library.require(name, cuda_version))) {}

  CUresult operator()(Arguments... arguments) const { return function_(arguments...); }
  const char* name() const { return name_; }
  Function* get() const { return function_; }

 protected:
  Entry(const char* name, void* function)
      : name_(name), function_(reinterpret_cast<Function*>(function)) {}

  const char* name_;
  Function* function_;
};

// An entry point that the library can do without.
template <class Function>
class OptionalEntry : public Entry<Function> {
 public:
  OptionalEntry(const DriverLibrary& library, const char* name, int cuda_version)
      : Entry<Function>(name, library.find(name, cuda_version)) {}

  explicit operator bool() const { return this->function_ != nullptr; }
};

// A member and what the driver calls it: cuda.h may take the name for that of a later form.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name takes none.
#define BWGEMM_ENTRY(name, version) Entry<decltype(::name)> name = {library, #name, version}

struct Driver {
  explicit Driver(const char* path) : library(path) {}

  DriverLibrary library;

  BWGEMM_ENTRY(cuInit, 2000);
  BWGEMM_ENTRY(cuGetErrorName, 6000);
  BWGEMM_ENTRY(cuGetErrorString, 6000);

  BWGEMM_ENTRY(cuDeviceGet, 2000);
  BWGEMM_ENTRY(cuDeviceGetName, 2000);
  BWGEMM_ENTRY(cuDeviceGetAttribute, 2000);
  BWGEMM_ENTRY(cuDevicePrimaryCtxRetain, 7000);
  BWGEMM_ENTRY(cuDevicePrimaryCtxRelease, 11000);

  BWGEMM_ENTRY(cuCtxGetCurrent, 4000);
  BWGEMM_ENTRY(cuCtxPushCurrent, 4000);
  BWGEMM_ENTRY(cuCtxPopCurrent, 4000);
  BWGEMM_ENTRY(cuCtxGetDevice, 2000);
  BWGEMM_ENTRY(cuCtxGetId, 12000);
  BWGEMM_ENTRY(cuCtxSynchronize, 2000);
  OptionalEntry<decltype(::cuCtxGetDevResource)> cuCtxGetDevResource{library, "cuCtxGetDevResource",
                                                                     12040};

  BWGEMM_ENTRY(cuStreamCreate, 2000);
  BWGEMM_ENTRY(cuStreamDestroy, 4000);
  BWGEMM_ENTRY(cuStreamSynchronize, 2000);
  BWGEMM_ENTRY(cuStreamGetCtx, 9020);
  BWGEMM_ENTRY(cuStreamGetId, 12000);
  BWGEMM_ENTRY(cuStreamIsCapturing, 10000);
  BWGEMM_ENTRY(cuStreamGetCaptureInfo, 12030);
  BWGEMM_ENTRY(cuThreadExchangeStreamCaptureMode, 10010);

  BWGEMM_ENTRY(cuEventCreate, 2000);
  BWGEMM_ENTRY(cuEventDestroy, 4000);
  BWGEMM_ENTRY(cuEventRecord, 2000);
  BWGEMM_ENTRY(cuEventSynchronize, 2000);
  BWGEMM_ENTRY(cuEventElapsedTime, 2000);
  BWGEMM_ENTRY(cuEventQuery, 2000);

  BWGEMM_ENTRY(cuUserObjectCreate, 11030);
  BWGEMM_ENTRY(cuUserObjectRelease, 11030);
  BWGEMM_ENTRY(cuGraphRetainUserObject, 11030);

  BWGEMM_ENTRY(cuMemAlloc, 3020);
  BWGEMM_ENTRY(cuMemFree, 3020);
  BWGEMM_ENTRY(cuMemsetD32Async, 3020);
  BWGEMM_ENTRY(cuMemcpyHtoDAsync, 3020);

  BWGEMM_ENTRY(cuLibraryLoadData, 12000);
  BWGEMM_ENTRY(cuLibraryUnload, 12000);
  BWGEMM_ENTRY(cuLibraryGetKernel, 12000);
  BWGEMM_ENTRY(cuKernelGetFunction, 12000);
  BWGEMM_ENTRY(cuFuncSetAttribute, 9000);
  BWGEMM_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050);
  BWGEMM_ENTRY(cuOccupancyMaxActiveClusters, 11070);

  BWGEMM_ENTRY(cuTensorMapEncodeTiled, 12000);
  BWGEMM_ENTRY(cuLaunchKernelEx, 11060);

  // Calls and throws Error(status_of(result)) with the call and what the driver says of it.
  template <class Function, class... Arguments>
  void call(const Entry<Function>& entry, Arguments... arguments) const {
    check(entry, entry(arguments...));
  }
  // The same for a call already made.
  template <class Function>
  void check(const Entry<Function>& entry, CUresult result) const {
    if (result != CUDA_SUCCESS) fail(entry.name(), result);
  }

  // "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
  std::string describe(const char* entry, CUresult result) const;

 private:
  [[noreturn]] void fail(const char* entry, CUresult result) const;
};

#undef BWGEMM_ENTRY

// The driver of this process: opened and initialized by the first call that succeeds, from `path`;
// later calls return it whatever their path. A failure leaves nothing behind.
const Driver& open_driver(const char* path);

bwgemmStatus_t status_of(CUresult result);

}  // namespace bwgemm
