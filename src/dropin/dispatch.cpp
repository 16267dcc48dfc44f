// SPDX-License-Identifier: Apache-2.0
#include "dropin/dispatch.h"

#include <new>
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

Reason why_handle(const Handle* handle) {
  if (handle == nullptr) return Reason::unknown_handle;
  if (handle->forks != fork_count()) return Reason::forked;
  return handle->product.handle != nullptr ? Reason::none : Reason::no_device;
}

// Whether file and policy leave the call to cuBLAS, as far as its settings do not matter. `found`:
// what the file says of the call. What is predicted depends on the number of rows: batch invariant
// results must not.
bool is_left(const Handle& handle, Listed found) {
  const bool predicts = handle.product.is_measured && !settings().batch_invariant;
  const bool may_serve = settings().policy == Policy::all || predicts;
  return found == Listed::to_forward || (found == Listed::no && !may_serve);
}

// Whether bwgemm is not predicted to be faster, and that decides. handle.mutex must be held.
bool is_slower(Handle& handle, const Call& call, const CallSettings& settings, Listed found,
               std::optional<bool> known) {
  if (dropin::settings().policy == Policy::all || found != Listed::no) return false;
  if (handle.decisions == nullptr) handle.decisions = new (std::nothrow) Decisions;
  return handle.decisions == nullptr || !handle.decisions->serves(handle, call, settings, known);
}

// What was decided of an equal call by the policy. This is asked first, because where it was left
// most settings do not matter. handle.mutex must be held.
std::optional<bool> known_decision(const Handle& handle, const Call& call, Listed found) {
  if (handle.decisions == nullptr || is_recording() || found != Listed::no) return {};
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_DEVICE;
  const auto get = handle.cublas->get_pointer_mode;
  if (get == nullptr || get(call.handle, &mode) != CUBLAS_STATUS_SUCCESS ||
      mode != CUBLAS_POINTER_MODE_HOST)
    return {};
  const CallSettings now{nullptr, mode, 0, 0, handle.workspace, handle.workspace_size};
  return handle.decisions->known(call, usable_workspace(now));
}

// Why bwgemm cannot serve the call, whatever the handle is set to. Where there is no reason,
// `found` is what the file says of the call. Needs no lock.
Reason why_never(const Handle* handle, const Call& call, Listed& found) {
  if (const Reason reason = why_handle(handle); reason != Reason::none) return reason;
  if (const Reason reason = why_forwarded(call); reason != Reason::none) return reason;
  found = chosen().find(call, handle->product.chosen_device);
  return is_left(*handle, found) ? Reason::policy : Reason::none;
}

// Why bwgemm is not to serve a call under these settings. `found`: of why_never(). handle.mutex
// must be held.
Reason why_now(Handle& handle, const Call& call, const CallSettings& settings, Listed found,
               std::optional<bool> known = std::nullopt) {
  if (const Reason reason = why_forwarded(call, settings); reason != Reason::none) return reason;
  return is_slower(handle, call, settings, found, known) ? Reason::slower : Reason::none;
}

cublasStatus_t forward(const Call& call, const CallSettings* settings, Reason reason,
                       const Cublas& cublas, const RealCall& real) {
  record(call, settings, Outcome::forwarded, reason);
  return real(cublas);
}

// cuBLAS may do the call again where C is only written. Otherwise a part of it may have been done.
cublasStatus_t serve(Handle& handle, const Call& call, const CallSettings& settings,
                     std::unique_lock<std::mutex>& lock, const RealCall& real) {
  const bwgemmStatus_t status =
      multiply(handle, call, settings, const_cast<void*>(call.output().data));
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

// A call that can be served. `lock`: of the handle.
cublasStatus_t in_mode(Handle& handle, const Call& call, const CallSettings& settings,
                       std::unique_lock<std::mutex>& lock, const RealCall& real) {
  switch (dropin::settings().mode) {
    case Mode::log: return only_ask(handle, call, settings, lock, real);
    case Mode::check: return check(handle, call, settings, lock, real);
    default: return serve(handle, call, settings, lock, real);
  }
}

// The default streams are those of the current context, which bwgemm's handle need not belong to.
// Where there is none, the CUDA runtime would make that of the handle's device current.
bool is_in_context(const Handle& handle, cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) >
      reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD))
    return true;
  CUcontext current = nullptr;
  const Device* const driver = device();
  return driver == nullptr || driver->ctx_get_current == nullptr ||
         driver->ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr ||
         current == handle.product.context.context;
}

// Null if there is no memory.
LtCache* cache_of(Handle& handle) {
  if (handle.lt_cache == nullptr) handle.lt_cache = new (std::nothrow) LtCache;
  return handle.lt_cache;
}

// Why bwgemm cannot serve a call of cuBLASLt, which is read. handle.mutex must be held.
Reason why_lt(Handle& handle, const LtArguments& arguments, LtCall& read) {
  const Reason found = read_call(arguments, *handle.cublas, cache_of(handle), is_recording(), read);
  if (found != Reason::none) return found;
  Listed in_file = Listed::no;
  if (const Reason reason = why_never(&handle, read.call, in_file); reason != Reason::none)
    return reason;
  if (!is_in_context(handle, arguments.stream)) return Reason::other_context;
  return why_now(handle, read.call, read.settings, in_file);
}

}  // namespace

cublasStatus_t dispatch(const Call& call, const void* caller, const RealCall& real) {
  Handle* const handle = find_handle(call.handle);
  const Cublas* const cublas = cublas_for(handle, caller);
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (Inside::now()) return real(*cublas);
  Listed in_file = Listed::no;
  if (const Reason never = why_never(handle, call, in_file); never != Reason::none)
    return forward(call, nullptr, never, *cublas, real);

  std::unique_lock lock(handle->mutex);
  const std::optional<bool> known = known_decision(*handle, call, in_file);
  if (known == false) {
    lock.unlock();
    return forward(call, nullptr, Reason::slower, *cublas, real);
  }
  const std::optional<CallSettings> now = settings_of(*handle, call.handle);
  const Reason reason = now ? why_now(*handle, call, *now, in_file, known) : Reason::handle_state;
  if (reason != Reason::none) {
    lock.unlock();
    return forward(call, now ? &*now : nullptr, reason, *cublas, real);
  }
  return in_mode(*handle, call, *now, lock, real);
}

cublasStatus_t dispatch_lt(const LtArguments& arguments, const void* caller, const RealCall& real) {
  if (const Cublas* const around = cublas_around(caller)) return real(*around);
  Handle* const handle = find_handle(reinterpret_cast<cublasHandle_t>(arguments.handle));
  const Cublas* const cublas = handle != nullptr ? handle->cublas : cublaslt_of(caller);
  if (cublas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (is_off() || Inside::now()) return real(*cublas);
  if (const Reason reason = why_handle(handle); reason != Reason::none) {
    LtCall read{};
    if (is_recording()) read_call(arguments, *cublas, nullptr, true, read);
    return forward(read.call, &read.settings, reason, *cublas, real);
  }
  LtCall read;
  std::unique_lock lock(handle->mutex);
  const Reason reason = why_lt(*handle, arguments, read);
  if (reason == Reason::none) return in_mode(*handle, read.call, read.settings, lock, real);
  lock.unlock();
  return forward(read.call, &read.settings, reason, *cublas, real);
}

}  // namespace bwgemm::dropin
