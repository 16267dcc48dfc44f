// SPDX-License-Identifier: Apache-2.0
// CancellationHold: while one lives, its thread is not cancelled. Entry points read and write files
// and are noexcept, which a cancellation cannot unwind; a cancellation waits for their end.
#pragma once

#include <pthread.h>

namespace bwgemm::vgpu::driver {

class CancellationHold {
 public:
  CancellationHold() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHold() { pthread_setcancelstate(before_, nullptr); }
  CancellationHold(const CancellationHold&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace bwgemm::vgpu::driver
