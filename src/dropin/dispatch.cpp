// SPDX-License-Identifier: Apache-2.0
#include "dropin/dispatch.h"

#include <optional>

#include "dropin/check.h"
#include "dropin/chosen.h"
#include "dropin/fork.h"
#include "dropin/handles.h"
#include "dropin/reason.h"
#include "dropin/record.h"
#include "dropin/serve.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

// The copy of cuBLAS that made the handle; of a handle that is not known, the caller's.
const Cublas* cublas_for(const Handle* handle, const void* caller) {
  return handle != nullptr ? handle->cublas : cublas_of(caller);
}

// Why bwgemm cannot serve the call, whatever the handle is set to. Needs no lock.
Reason why_never(const Handle* handle, const Call& call) {
  if (handle == nullptr) return Reason::unknown_handle;
  if (handle->forks != fork_count()) return Reason::forked;
  if (handle->product.handle == nullptr) return Reason::no_device;
  if (const Reason reason = why_forwarded(call); reason != Reason::none) return reason;
  const bool is_chosen = settings().policy == Policy::all || chosen().has(call);
  return is_chosen ? Reason::none : Reason::policy;
}

cublasStatus_t forward(const Call& call, const CallSettings* settings, Reason reason,
                       const Cublas& cublas, const RealCall& real) {
  record(call, settings, Outcome::forwarded, reason);
  return real(cublas);
}

// cuBLAS may do the call again where C is only written. Otherwise a part of it may have been done.
cublasStatus_t serve(Handle& handle, const Call& call, const CallSettings& settings,
                     std::unique_lock<std::mutex>& lock, const RealCall& real) {
  const bwgemmStatus_t status = multiply(handle, call, settings, const_cast<void*>(call.c.data));
  lock.unlock();
  if (status == BWGEMM_STATUS_SUCCESS) {
    record(call, &settings, Outcome::served, Reason::none);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (may_have_written(status, settings) && !overwrites(call, settings))
    return static_cast<cublasStatus_t>(status);
  return forward(call, &settings, Reason::refused, *handle.cublas, real);
}

cublasStatus_t only_ask(Handle& handle, const Call& call, const CallSettings& settings,
                        std::unique_lock<std::mutex>& lock, const RealCall& real) {
  const bwgemmStatus_t status = ask(handle, call, settings);
  lock.unlock();
  const Reason reason = status == BWGEMM_STATUS_SUCCESS ? Reason::none : Reason::refused;
  return forward(call, &settings, reason, *handle.cublas, real);
}

}  // namespace

cublasStatus_t dispatch(const Call& call, const void* caller, const RealCall& real) {
  Handle* const handle = find_handle(call.handle);
  const Cublas* const cublas = cublas_for(handle, caller);
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Mode mode = settings().mode;
  if (mode == Mode::off || Inside::now()) return real(*cublas);
  if (const Reason never = why_never(handle, call); never != Reason::none)
    return forward(call, nullptr, never, *cublas, real);

  std::unique_lock lock(handle->mutex);
  const std::optional<CallSettings> now = settings_of(*handle, call.handle);
  const Reason reason = now ? why_forwarded(call, *now) : Reason::handle_state;
  if (reason != Reason::none) {
    lock.unlock();
    return forward(call, now ? &*now : nullptr, reason, *cublas, real);
  }
  switch (mode) {
    case Mode::log: return only_ask(*handle, call, *now, lock, real);
    case Mode::check: return check(*handle, call, *now, lock, real);
    default: return serve(*handle, call, *now, lock, real);
  }
}

}  // namespace bwgemm::dropin
