// SPDX-License-Identifier: Apache-2.0
#include "dropin/fork.h"

#include <atomic>
#include <pthread.h>

namespace bwgemm::dropin {
namespace {

constinit std::atomic<unsigned> forks{0};
constinit std::mutex mutex;

void before_fork() {
  mutex.lock();
}

void in_parent() {
  mutex.unlock();
}

void in_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  mutex.unlock();
}

// Without handlers a child might wait for ever: where there is no memory for them, it does.
[[maybe_unused]] const int failure = pthread_atfork(before_fork, in_parent, in_child);

}  // namespace

unsigned fork_count() {
  return forks.load(std::memory_order_relaxed);
}

std::mutex& seldom() {
  return mutex;
}

}  // namespace bwgemm::dropin
