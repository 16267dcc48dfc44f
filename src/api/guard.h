// SPDX-License-Identifier: Apache-2.0
// guard: the wall between the C interface and the C++ behind it. Runs the body of an entry; what it
// throws becomes the status, the thread's last-error text and one line of the log.
#pragma once

#include <cxxabi.h>

#include "bwgemm/bwgemm.h"

namespace bwgemm {

// The status of the exception being handled. `entry` is the name of the C function.
bwgemmStatus_t status_of_current_exception(const char* entry) noexcept;

// "" if no call failed on this thread.
const char* last_error_text() noexcept;

template <class Body>
bwgemmStatus_t guard(const char* entry, const Body& body) {
  try {
    body();
    return BWGEMM_STATUS_SUCCESS;
  } catch (const abi::__forced_unwind&) {
    throw;  // not an exception: the thread is being cancelled
  } catch (...) {
    return status_of_current_exception(entry);
  }
}

}  // namespace bwgemm
