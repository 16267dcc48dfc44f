// SPDX-License-Identifier: Apache-2.0
#include "dropin/check.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "dropin/bench_line.h"
#include "dropin/compare.h"
#include "dropin/epilogue.h"
#include "dropin/outputs.h"
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

// What bwgemm made of an output, and what that was.
struct OurOutput {
  Output output;
  HostMatrix before, after;
  std::string damage;  // what bwgemm wrote beside the elements; empty: nothing
};

struct OurSide {
  std::vector<OurOutput> outputs;  // the result first
  HostMatrix c;                    // as it was before, where it is apart from the result
};

// C may be null or something else where beta is 0.
HostMatrix c_before(const Call& call, const CallSettings& settings) {
  if (!call.d || scalar_value(call, settings, call.beta) == 0) return {};
  return copied(call, call.c, call.m, call.n, settings.stream);
}

// Throws what forwards the call instead. Gives back the memory on the device before cuBLAS runs.
OurSide our_side(Handle& handle, const Call& call, const CallSettings& settings, Reason& reason) {
  const ContextScope scope(handle);
  reason = Reason::captured;
  require(!is_captured(settings.stream));
  reason = Reason::refused;
  require(ask(handle, call, settings) == BWGEMM_STATUS_SUCCESS);
  reason = Reason::unchecked;
  OurSide side;
  side.c = c_before(call, settings);
  std::vector<std::unique_ptr<Shadow>> shadows;
  Call ours = call;
  const std::vector<Output> outputs = outputs_of(call);
  for (const Output& output : outputs) {
    shadows.push_back(std::make_unique<Shadow>(output.call, settings.stream));
    side.outputs.push_back({output, shadows.back()->elements(), {}, ""});
    ours = redirected(ours, output.what, shadows.back()->argument());
  }
  const bwgemmStatus_t status = multiply(handle, ours, settings, shadows.front()->argument());
  if (status != BWGEMM_STATUS_SUCCESS) reason = Reason::refused;
  require(status == BWGEMM_STATUS_SUCCESS);
  for (std::size_t at = 0; at < outputs.size(); ++at) {
    OurOutput& seen = side.outputs[at];
    seen.after = shadows[at]->elements();
    seen.damage = shadows[at]->damage(seen.before, seen.after);
  }
  return side;
}

// Copies of what a call reads, made once somebody needs them.
class Operands {
 public:
  Operands(const Call& call, const CallSettings& settings)
      : call_(call), settings_(settings), form_(*form_of(call.epilogue.kind)) {}

  Inputs inputs(const HostMatrix& before) {
    if (!is_copied_) copy();
    return {a_,
            b_,
            before,
            alpha_,
            beta_,
            form_.adds_bias ? &bias_ : nullptr,
            form_.aux_mode == BWGEMM_AUX_DERIVATIVE ? &aux_ : nullptr};
  }

 private:
  void copy() {
    const bool ta = call_.transa != CUBLAS_OP_N, tb = call_.transb != CUBLAS_OP_N;
    const std::int64_t m = call_.m, n = call_.n, k = call_.k;
    const cudaStream_t stream = settings_.stream;
    const Epilogue& epilogue = call_.epilogue;
    alpha_ = scalar_value(call_, settings_, call_.alpha);
    beta_ = scalar_value(call_, settings_, call_.beta);
    if (alpha_ != 0 && k != 0) {
      a_ = copied(call_, call_.a, ta ? k : m, ta ? m : k, stream);
      b_ = copied(call_, call_.b, tb ? n : k, tb ? k : n, stream);
    }
    if (form_.adds_bias)
      bias_ =
          copied(call_, {epilogue.bias, epilogue.bias_type, m, epilogue.bias_stride}, m, 1, stream);
    if (form_.aux_mode == BWGEMM_AUX_DERIVATIVE)
      aux_ = copied(call_, {epilogue.aux, epilogue.aux_type, epilogue.aux_ld, epilogue.aux_stride},
                    m, n, stream);
    is_copied_ = true;
  }

  const Call& call_;
  const CallSettings& settings_;
  const EpilogueForm& form_;
  bool is_copied_ = false;
  HostMatrix a_, b_, bias_, aux_;
  double alpha_ = 0, beta_ = 0;
};

std::string difference(const Call& call, const CallSettings& settings, const OurSide& ours) {
  Operands operands(call, settings);
  const HostMatrix& before = call.d ? ours.c : ours.outputs.front().before;
  for (const OurOutput& seen : ours.outputs) {
    if (!seen.damage.empty()) return seen.damage;
    const Call& of = seen.output.call;
    const HostMatrix theirs = copied(of, of.output(), of.m, of.n, settings.stream);
    if (seen.output.what == Written::bias_gradient) {
      const Summed summed = summed_of(call);
      const bool adds_result = summed.operand.data == call.output().data;
      const HostMatrix terms =
          copied(call, summed.operand, summed.rows, summed.columns, settings.stream);
      const HostMatrix& our_terms = adds_result ? ours.outputs.front().after : terms;
      if (std::string why = judge_gradient(call, seen.after, our_terms, theirs, terms);
          !why.empty())
        return why;
      continue;
    }
    for (const Place& place : suspicious(of, seen.after, theirs))
      if (std::string why = judge(of, operands.inputs(before), place); !why.empty()) return why;
  }
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
    require(device() != nullptr && device()->can_check());
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
