// SPDX-License-Identifier: Apache-2.0
// Callbacks: functions of the program that the driver runs, which are host functions of streams and
// destructors of user objects. A callback may call nothing of the driver: such a call is refused,
// and is a finding.
#pragma once

#include <deque>
#include <mutex>
#include <semaphore>

#include "vgpu/driver/api.h"

namespace bwgemm::vgpu::driver {

struct Callback {
  CUhostFn function;
  void* data;

  void run() const;
};

// True while the calling thread runs a callback.
bool is_in_callback();
// Reports the call; its result.
CUresult refuse_call_of_callback();

// One thread of the driver that runs the callbacks posted to it in the order of their posting,
// under no lock.
class CallbackThread {
 public:
  // Begins the thread unless there is one: what has to be posted later cannot fail for want of it.
  void begin();
  void post(Callback callback);

 private:
  [[noreturn]] void run();

  std::mutex mutex_;
  // No condition variable: waiting for one needs a newer libstdc++ than the packages do.
  std::counting_semaphore<> count_{0};  // of posted_
  std::deque<Callback> posted_;
  bool has_begun_ = false;
};

}  // namespace bwgemm::vgpu::driver
