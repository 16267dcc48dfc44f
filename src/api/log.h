// SPDX-License-Identifier: Apache-2.0
// The log: lines to standard error or BWGEMM_LOG_FILE, off unless BWGEMM_LOG_LEVEL says otherwise.
// Level and file are read at the first use. Nothing that is logged makes a call fail: a line that
// cannot be composed or written is lost.
#pragma once

#include <concepts>
#include <pthread.h>
#include <string_view>

namespace bwgemm {

enum class Level { off, error, warning, info, debug, trace };

// Whether lines of this level are written.
bool logs(Level level) noexcept;

void log(Level level, std::string_view line) noexcept;

// While one lives, its thread is not cancelled: nothing may be left half done, and functions that
// are noexcept cannot be unwound.
class CancellationHold {
 public:
  CancellationHold() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHold() { pthread_setcancelstate(before_, nullptr); }
  CancellationHold(const CancellationHold&) = delete;
  CancellationHold& operator=(const CancellationHold&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Composes the line, which may throw, only if it is written.
template <std::invocable Compose>
void log(Level level, const Compose& compose) noexcept {
  if (!logs(level)) return;
  const CancellationHold hold;
  try {
    log(level, std::string_view(compose()));
  } catch (...) {
    // Memory is exhausted: the call that is being logged is not to fail for it.
  }
}

}  // namespace bwgemm
