// SPDX-License-Identifier: Apache-2.0
// A call of cuBLAS as a call of bwgemm.
#pragma once

#include <optional>

#include "bwgemm/bwgemm.h"
#include "dropin/call.h"
#include "dropin/handles.h"

namespace bwgemm::dropin {

// What cuBLAS says of the handle now, and the workspace that the program gave it. Nothing if cuBLAS
// does not say, as for a handle that is none. The handle's mutex must be held.
std::optional<CallSettings> settings_of(const Handle& handle, cublasHandle_t of);

// Gives the call to bwgemm, on the stream of the settings; `to` stands for the call's output, and
// for C where that is the output. handle.mutex must be held.
bwgemmStatus_t multiply(Handle& handle, const Call& call, const CallSettings& settings, void* to);

// What multiply() would say of the arguments. Launches nothing.
bwgemmStatus_t ask(Handle& handle, const Call& call, const CallSettings& settings);

// Bytes of workspace that bwgemm may use; 0: none.
std::size_t usable_workspace(const CallSettings& settings);

// The algo that bwgemm lists first for the call; nothing if bwgemm refuses the call. multiply() may
// take another: a tuned one, or one without copies that is hardly slower. Launches nothing.
std::optional<bwgemmMatmulAlgo_t> first_algo(Handle& handle, const Call& call,
                                             const CallSettings& settings);

// Whether parts of C may have been written. Only calls with workspace are divided, into parts of
// which each may fail to load its kernel, to allocate or to launch. Arguments are judged before.
bool may_have_written(bwgemmStatus_t status, const CallSettings& settings);

// Whether the output is only written, as far as the host knows.
bool overwrites(const Call& call, const CallSettings& settings);

// The value of a half, given by its bits. Exact.
float from_half(std::uint16_t bits);

// The scalars of a call, whose mode must be host.
float host_scalar(const Call& call, const void* scalar);

}  // namespace bwgemm::dropin
