// SPDX-License-Identifier: Apache-2.0
// Why a call goes to cuBLAS. The log and the page use these names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dropin/call.h"

namespace bwgemm::dropin {

enum class Reason : std::uint8_t {
  none,            // it can be served
  unknown_handle,  // the handle was not made through this library
  forked,          // the handle is the parent process's
  no_device,       // bwgemm has no handle for the device or its driver
  handle_state,    // cuBLAS does not tell a setting of the handle
  empty,           // m, n or the batch is 0, or of cuBLASLt k: there is nothing to compute
  null_scalar,     // alpha or beta is null
  types,
  compute_type,
  algo,            // the program asks for an algorithm by its number
  math_mode,       // pedantic, or not known here
  half_on_device,  // the scalars are half and lie in device memory
  descriptor,      // null, or has what is not known here or not served, as scales of matrices
  layout,          // sizes or batches do not fit each other, or it has what is not served
  pointer_mode,    // vectors of scalars
  epilogue,        // not served, or lacks a pointer
  other_context,   // the stream is a default one, and not that of the handle's context
  policy,          // the file of chosen calls or the policy leaves the call to cuBLAS
  slower,          // policy faster: bwgemm is not predicted to be faster
  refused,         // by bwgemm: an argument that is wrong or not supported, or no kernel
  captured,        // mode check, which must wait for the stream
  unchecked,       // mode check, which lacks memory or a function of the driver
};

constexpr const char* name(Reason reason) {
  constexpr std::array names = {
      "",          "unknown_handle", "forked",     "no_device",    "handle_state",
      "empty",     "null_scalar",    "types",      "compute_type", "algo",
      "math_mode", "half_on_device", "descriptor", "layout",       "pointer_mode",
      "epilogue",  "other_context",  "policy",     "slower",       "refused",
      "captured",  "unchecked"};
  return names[static_cast<std::size_t>(reason)];
}

// As far as compute type and types decide.
Reason why_types(const Call& call);

// Whether the call can be served, as far as it decides that by itself; and whether it can with its
// handle's settings, if so. Nothing else is looked at, so that equal calls are computed by the same
// library each time.
Reason why_forwarded(const Call& call);
Reason why_forwarded(const Call& call, const CallSettings& settings);

}  // namespace bwgemm::dropin
