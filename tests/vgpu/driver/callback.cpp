// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/callback.h"

#include <thread>

#include "vgpu/driver/report.h"

namespace bwgemm::vgpu::driver {
namespace {

thread_local bool in_callback = false;

}  // namespace

void Callback::run() const {
  in_callback = true;
  function(data);
  in_callback = false;
}

bool is_in_callback() {
  return in_callback;
}

CUresult refuse_call_of_callback() {
  report("a callback calls the driver, which no host function and no destructor may");
  return CUDA_ERROR_NOT_PERMITTED;
}

void CallbackThread::begin() {
  const std::lock_guard lock(mutex_);
  if (has_begun_) return;
  std::thread([this] { run(); }).detach();
  has_begun_ = true;
}

void CallbackThread::post(Callback callback) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(callback);
  count_.release();
}

void CallbackThread::run() {
  for (;;) {
    count_.acquire();
    Callback next{};
    {
      const std::lock_guard lock(mutex_);
      next = posted_.front();
      posted_.pop_front();
    }
    next.run();
  }
}

}  // namespace bwgemm::vgpu::driver
