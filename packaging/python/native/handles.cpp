// SPDX-License-Identifier: Apache-2.0
#include "handles.h"

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <pthread.h>

#include "driver.h"
#include "library.h"

namespace bwgemm_python {
namespace {

using Handles = std::map<int, std::vector<bwgemmHandle_t>>;  // by device

// Handles of threads that have ended. Never destroyed, like all that threads may use at exit.
struct Idle {
  std::mutex mutex;
  Handles handles;
};

Idle& idle() {
  static Idle* const instance = new Idle;
  return *instance;
}

std::atomic<unsigned> generation{0};  // how many forks lie between the first process and this one

struct Thread {
  Handles handles;
  unsigned born = generation;

  ~Thread() {
    if (born != generation) return;
    const std::lock_guard lock(idle().mutex);
    for (const auto& [device, own] : handles) {
      auto& all = idle().handles[device];
      all.insert(all.end(), own.begin(), own.end());
    }
  }
};

Thread& thread() {
  thread_local Thread instance;
  if (instance.born != generation) {
    instance.handles.clear();
    instance.born = generation;
  }
  return instance;
}

// Another thread of the parent may have held the mutex, or been changing the map.
void forget() {
  ++generation;
  new (&idle()) Idle;
  reset_after_fork();
}

bwgemmHandle_t taken(std::vector<bwgemmHandle_t>& handles) {
  if (handles.empty()) return nullptr;
  const bwgemmHandle_t last = handles.back();
  handles.pop_back();
  return last;
}

bwgemmHandle_t made(int device) {
  {
    const std::lock_guard lock(idle().mutex);
    if (const bwgemmHandle_t handle = taken(idle().handles[device])) return handle;
  }
  const DuringCaptures relaxed;
  const CurrentDevice current(device);
  bwgemmHandle_t handle = nullptr;
  check(library().create(&handle));
  return handle;
}

}  // namespace

Lease::Lease(int device) : device_(device), handle_(taken(thread().handles[device])) {
  if (handle_ == nullptr) handle_ = made(device);
}

Lease::~Lease() {
  thread().handles[device_].push_back(handle_);
}

std::vector<std::pair<bwgemmHandle_t, void*>> handles_of_thread(int device) {
  std::vector<std::pair<bwgemmHandle_t, void*>> found;
  for (const bwgemmHandle_t handle : thread().handles[device]) {
    CUstream_st* stream = nullptr;
    check(library().get_stream(handle, &stream));
    found.emplace_back(handle, stream);
  }
  return found;
}

void register_fork() {
  pthread_atfork(nullptr, nullptr, forget);
}

}  // namespace bwgemm_python
