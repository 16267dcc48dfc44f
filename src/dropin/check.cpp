// SPDX-License-Identifier: Apache-2.0
#include "dropin/check.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "dropin/bench_line.h"
#include "dropin/compare.h"
#include "dropin/record.h"
#include "dropin/serve.h"
#include "dropin/settings.h"
#include "dropin/shadow.h"

namespace bwgemm::dropin {
namespace {

// While one lives, its thread may allocate though another stream is being captured, and the capture
// stays valid.
class RelaxedCaptures {
 public:
  RelaxedCaptures() {
    require(device()->thread_exchange_stream_capture_mode(&mode_) == CUDA_SUCCESS);
  }
  ~RelaxedCaptures() { device()->thread_exchange_stream_capture_mode(&mode_); }
  RelaxedCaptures(const RelaxedCaptures&) = delete;
  RelaxedCaptures& operator=(const RelaxedCaptures&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // once it lives: the program's
};

// The context of the handle, for a scope in which captures of other streams stay valid.
class ContextScope {
 public:
  explicit ContextScope(const Handle& handle) {
    require(handle.product.context.is_known() &&
            device()->ctx_push_current(handle.product.context.context) == CUDA_SUCCESS);
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    device()->ctx_pop_current(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  RelaxedCaptures relaxed_;
};

// The stream's context must be current.
bool is_captured(cudaStream_t stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return device()->stream_is_capturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// A scalar as a number, wherever it is.
double scalar_value(const Call& call, const CallSettings& settings, const void* scalar) {
  if (!settings.has_device_scalars()) return host_scalar(call, scalar);
  float value = 0;
  download(&value, reinterpret_cast<CUdeviceptr>(scalar), sizeof value, settings.stream);
  return value;
}

// What bwgemm made of C, and what C was.
struct OurSide {
  HostMatrix before, after;
  std::string damage;  // what bwgemm wrote beside the elements of C; empty: nothing
};

// Throws what forwards the call instead. Gives back the memory on the device before cuBLAS runs.
OurSide our_side(Handle& handle, const Call& call, const CallSettings& settings, Reason& reason) {
  const ContextScope scope(handle);
  reason = Reason::captured;
  require(!is_captured(settings.stream));
  reason = Reason::refused;
  require(ask(handle, call, settings) == BWGEMM_STATUS_SUCCESS);
  reason = Reason::unchecked;
  Shadow shadow(call, settings.stream);
  OurSide side;
  side.before = shadow.elements();
  const bwgemmStatus_t status = multiply(handle, call, settings, shadow.argument());
  if (status != BWGEMM_STATUS_SUCCESS) reason = Reason::refused;
  require(status == BWGEMM_STATUS_SUCCESS);
  side.after = shadow.elements();
  side.damage = shadow.damage(side.before, side.after);
  return side;
}

std::string difference(const Call& call, const CallSettings& settings, const OurSide& ours) {
  if (!ours.damage.empty()) return ours.damage;
  const HostMatrix theirs = copied(call, call.c, call.m, call.n, settings.stream);
  const std::vector<Place> places = suspicious(call, ours.after, theirs);
  if (places.empty()) return "";
  const double alpha = scalar_value(call, settings, call.alpha);
  const double beta = scalar_value(call, settings, call.beta);
  const bool ta = call.transa != CUBLAS_OP_N, tb = call.transb != CUBLAS_OP_N;
  HostMatrix a, b;
  if (alpha != 0 && call.k != 0) {
    a = copied(call, call.a, ta ? call.k : call.m, ta ? call.m : call.k, settings.stream);
    b = copied(call, call.b, tb ? call.n : call.k, tb ? call.k : call.n, settings.stream);
  }
  const Inputs inputs{a, b, ours.before, alpha, beta};
  for (const Place& place : places)
    if (std::string why = judge(call, inputs, place); !why.empty()) return why;
  return "";
}

void report(const Call& call, const CallSettings& settings, const std::string& what) {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  std::string line = "check: ";
  line.append(name(call.entry)).append(": ").append(what).append("\n  ");
  say(line.append(bench_line(call, settings)));
}

void compare(const Handle& handle, const Call& call, const CallSettings& settings,
             const OurSide& ours) {
  const ContextScope scope(handle);
  const std::string what = difference(call, settings, ours);
  if (!what.empty()) report(call, settings, what);
  record(call, &settings, what.empty() ? Outcome::agreed : Outcome::differed, Reason::none);
}

}  // namespace

cublasStatus_t check(Handle& handle, const Call& call, const CallSettings& settings,
                     std::unique_lock<std::mutex>& lock, const RealCall& real) {
  Reason reason = Reason::unchecked;
  std::unique_ptr<OurSide> ours;
  try {
    require(!call.is_lt() && device() != nullptr && device()->can_check());
    ours = std::make_unique<OurSide>(our_side(handle, call, settings, reason));
  } catch (const std::exception&) {  // of this file, or no memory
  }
  lock.unlock();
  const cublasStatus_t status = real(*handle.cublas);
  if (ours == nullptr || status != CUBLAS_STATUS_SUCCESS) {
    record(call, &settings, Outcome::forwarded, reason);
    return status;
  }
  try {
    compare(handle, call, settings, *ours);
  } catch (const std::exception&) {
    record(call, &settings, Outcome::forwarded, Reason::unchecked);
  }
  return status;
}

}  // namespace bwgemm::dropin
