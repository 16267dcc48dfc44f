// SPDX-License-Identifier: Apache-2.0
#include "launch/fork.h"

#include <atomic>
#include <new>
#include <pthread.h>
#include <type_traits>

namespace bwgemm {
namespace {

static_assert(std::is_trivially_destructible_v<ForkedMutex>);

constinit std::atomic<unsigned> forks{0};
constinit ForkedMutex* all_mutexes = nullptr;  // a list, complete when the library is loaded

void begin_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  ForkedMutex::unlock_all_in_child();
}

// From the load of the library to its unload, which removes the handler. Asking for the process id
// in every call instead would be a system call.
const int handler_failure = pthread_atfork(nullptr, nullptr, begin_child);

}  // namespace

unsigned fork_count() noexcept {
  return forks.load(std::memory_order_relaxed);
}

void require_fork_count() {
  if (handler_failure != 0) throw std::bad_alloc();
}

ForkedMutex::ForkedMutex() noexcept : next_(all_mutexes) {
  all_mutexes = this;
}

void ForkedMutex::unlock_all_in_child() noexcept {
  for (ForkedMutex* one = all_mutexes; one != nullptr; one = one->next_)
    new (&one->mutex_) std::mutex;
}

}  // namespace bwgemm
