// SPDX-License-Identifier: Apache-2.0
// Driver: the entry points of libcuda.so.1 that the library uses, found at run time, so that the
// library loads on machines without a driver. Members are named as in the driver's documentation.
// When it is opened, and from which file, api/ decides. And what calls of it need around them: the
// context of a handle (Context), current for the length of a call (ContextScope), and freedom from
// what a stream capture would forbid (CaptureRelaxer).
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

// Either the context that was current, which is borrowed, or the primary context of device 0, which
// is retained.
class Context {
 public:
  explicit Context(const Driver& driver);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  CUcontext get() const { return context_; }

  // False once its owner destroyed or reset it. Addresses of contexts are reused, their ids are
  // not.
  bool is_alive() const;

 private:
  const Driver& driver_;
  CUcontext context_ = nullptr;
  CUdevice device_ = 0;
  unsigned long long id_ = 0;
  bool is_retained_ = false;
};

// Error(EXECUTION_FAILED) if the context is gone: the driver makes even that one current, and
// crashes at the first launch (CUDA 13.0 on an H200).
class ContextScope {
 public:
  explicit ContextScope(const Context& context) : driver_(context.driver()) {
    if (!context.is_alive())
      throw Error(BWGEMM_STATUS_EXECUTION_FAILED,
                  "the CUDA context of the handle was destroyed or reset");
    CUcontext current = nullptr;
    if (driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context.get()) return;
    driver_.call(driver_.cuCtxPushCurrent, context.get());
    is_pushed_ = true;
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    // Cannot fail for a context that this thread pushed, short of the driver's own teardown, after
    // which nothing is left to restore.
    if (is_pushed_) static_cast<void>(driver_.cuCtxPopCurrent(&popped));
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  bool is_pushed_ = false;
};

// While one lives, its thread may load modules and allocate though a capture is under way, and does
// not invalidate it: nothing called under it concerns the work being captured. If the driver does
// not comply, what is called under it says so.
class CaptureRelaxer {
 public:
  explicit CaptureRelaxer(const Driver& driver)
      : driver_(driver),
        is_relaxed_(driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
  ~CaptureRelaxer() {
    if (is_relaxed_) static_cast<void>(driver_.cuThreadExchangeStreamCaptureMode(&mode_));
  }
  CaptureRelaxer(const CaptureRelaxer&) = delete;
  CaptureRelaxer& operator=(const CaptureRelaxer&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // after construction: the caller's
  bool is_relaxed_;
};

}  // namespace bwgemm
