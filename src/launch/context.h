// SPDX-License-Identifier: Apache-2.0
// What calls of the driver need around them: the context of a handle (Context), current for the
// length of a call (ContextScope), and freedom from what a stream capture would forbid
// (CaptureRelaxer).
#pragma once

#include "launch/driver.h"

namespace bwgemm {

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
  bool is_alive() const {
    unsigned long long id = 0;
    switch (driver_.cuCtxGetId(context_, &id)) {
      case CUDA_SUCCESS: return id == id_;
      case CUDA_ERROR_INVALID_VALUE:
      case CUDA_ERROR_NOT_INITIALIZED:
      case CUDA_ERROR_DEINITIALIZED:
      case CUDA_ERROR_INVALID_CONTEXT:
      case CUDA_ERROR_CONTEXT_IS_DESTROYED: return false;
      default: return true;  // an error of the work on it
    }
  }

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
