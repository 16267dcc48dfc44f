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

struct Driver {
  explicit Driver(const char* path) : library(path) {}

  DriverLibrary library;

  Entry<decltype(::cuInit)> cuInit{library, "cuInit", 2000};
  Entry<decltype(::cuGetErrorName)> cuGetErrorName{library, "cuGetErrorName", 6000};
  Entry<decltype(::cuGetErrorString)> cuGetErrorString{library, "cuGetErrorString", 6000};

  Entry<decltype(::cuDeviceGet)> cuDeviceGet{library, "cuDeviceGet", 2000};
  Entry<decltype(::cuDeviceGetName)> cuDeviceGetName{library, "cuDeviceGetName", 2000};
  Entry<decltype(::cuDeviceGetAttribute)> cuDeviceGetAttribute{library, "cuDeviceGetAttribute",
                                                               2000};
  Entry<decltype(::cuDevicePrimaryCtxRetain)> cuDevicePrimaryCtxRetain{
      library, "cuDevicePrimaryCtxRetain", 7000};
  Entry<decltype(::cuDevicePrimaryCtxRelease)> cuDevicePrimaryCtxRelease{
      library, "cuDevicePrimaryCtxRelease", 11000};

  Entry<decltype(::cuCtxGetCurrent)> cuCtxGetCurrent{library, "cuCtxGetCurrent", 4000};
  Entry<decltype(::cuCtxPushCurrent)> cuCtxPushCurrent{library, "cuCtxPushCurrent", 4000};
  Entry<decltype(::cuCtxPopCurrent)> cuCtxPopCurrent{library, "cuCtxPopCurrent", 4000};
  Entry<decltype(::cuCtxGetDevice)> cuCtxGetDevice{library, "cuCtxGetDevice", 2000};
  Entry<decltype(::cuCtxGetId)> cuCtxGetId{library, "cuCtxGetId", 12000};
  Entry<decltype(::cuCtxSynchronize)> cuCtxSynchronize{library, "cuCtxSynchronize", 2000};
  OptionalEntry<decltype(::cuCtxGetDevResource)> cuCtxGetDevResource{library, "cuCtxGetDevResource",
                                                                     12040};

  Entry<decltype(::cuStreamCreate)> cuStreamCreate{library, "cuStreamCreate", 2000};
  Entry<decltype(::cuStreamDestroy)> cuStreamDestroy{library, "cuStreamDestroy", 4000};
  Entry<decltype(::cuStreamSynchronize)> cuStreamSynchronize{library, "cuStreamSynchronize", 2000};
  Entry<decltype(::cuStreamGetCtx)> cuStreamGetCtx{library, "cuStreamGetCtx", 9020};
  Entry<decltype(::cuStreamGetId)> cuStreamGetId{library, "cuStreamGetId", 12000};
  Entry<decltype(::cuStreamIsCapturing)> cuStreamIsCapturing{library, "cuStreamIsCapturing", 10000};
  Entry<decltype(::cuStreamGetCaptureInfo)> cuStreamGetCaptureInfo{library,
                                                                   "cuStreamGetCaptureInfo", 12030};
  Entry<decltype(::cuThreadExchangeStreamCaptureMode)> cuThreadExchangeStreamCaptureMode{
      library, "cuThreadExchangeStreamCaptureMode", 10010};

  Entry<decltype(::cuEventCreate)> cuEventCreate{library, "cuEventCreate", 2000};
  Entry<decltype(::cuEventDestroy)> cuEventDestroy{library, "cuEventDestroy", 4000};
  Entry<decltype(::cuEventRecord)> cuEventRecord{library, "cuEventRecord", 2000};
  Entry<decltype(::cuEventSynchronize)> cuEventSynchronize{library, "cuEventSynchronize", 2000};
  Entry<decltype(::cuEventElapsedTime)> cuEventElapsedTime{library, "cuEventElapsedTime", 2000};
  Entry<decltype(::cuEventQuery)> cuEventQuery{library, "cuEventQuery", 2000};

  Entry<decltype(::cuUserObjectCreate)> cuUserObjectCreate{library, "cuUserObjectCreate", 11030};
  Entry<decltype(::cuUserObjectRelease)> cuUserObjectRelease{library, "cuUserObjectRelease", 11030};
  Entry<decltype(::cuGraphRetainUserObject)> cuGraphRetainUserObject{
      library, "cuGraphRetainUserObject", 11030};

  Entry<decltype(::cuMemAlloc)> cuMemAlloc{library, "cuMemAlloc", 3020};
  Entry<decltype(::cuMemFree)> cuMemFree{library, "cuMemFree", 3020};
  Entry<decltype(::cuMemsetD32Async)> cuMemsetD32Async{library, "cuMemsetD32Async", 3020};
  Entry<decltype(::cuMemcpyHtoDAsync)> cuMemcpyHtoDAsync{library, "cuMemcpyHtoDAsync", 3020};

  Entry<decltype(::cuLibraryLoadData)> cuLibraryLoadData{library, "cuLibraryLoadData", 12000};
  Entry<decltype(::cuLibraryUnload)> cuLibraryUnload{library, "cuLibraryUnload", 12000};
  Entry<decltype(::cuLibraryGetKernel)> cuLibraryGetKernel{library, "cuLibraryGetKernel", 12000};
  Entry<decltype(::cuKernelGetFunction)> cuKernelGetFunction{library, "cuKernelGetFunction", 12000};
  Entry<decltype(::cuFuncSetAttribute)> cuFuncSetAttribute{library, "cuFuncSetAttribute", 9000};
  Entry<decltype(::cuOccupancyMaxActiveBlocksPerMultiprocessor)>
      cuOccupancyMaxActiveBlocksPerMultiprocessor{
          library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050};
  Entry<decltype(::cuOccupancyMaxActiveClusters)> cuOccupancyMaxActiveClusters{
      library, "cuOccupancyMaxActiveClusters", 11070};

  Entry<decltype(::cuTensorMapEncodeTiled)> cuTensorMapEncodeTiled{library,
                                                                   "cuTensorMapEncodeTiled", 12000};
  Entry<decltype(::cuLaunchKernelEx)> cuLaunchKernelEx{library, "cuLaunchKernelEx", 11060};

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

// The driver of this process: opened and initialized by the first call that succeeds, from `path`;
// later calls return it whatever their path. A failure leaves nothing behind.
const Driver& open_driver(const char* path);

bwgemmStatus_t status_of(CUresult result);

}  // namespace bwgemm
