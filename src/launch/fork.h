// SPDX-License-Identifier: Apache-2.0
// What a forked child inherits. Threads of the parent do not exist there, so a mutex that one of
// them held would stay locked for ever: the mutexes of the whole process are ForkedMutexes, which
// every child finds unlocked. Those of a handle need not be: no child can use it.
#pragma once

#include <mutex>

namespace bwgemm {

// How often this process and its ancestors were forked since the library was loaded.
unsigned fork_count() noexcept;

// Error as of std::bad_alloc if forks cannot be noticed.
void require_fork_count();

// For static storage. Never destroyed: exit handlers and other threads may make calls until the
// end.
class ForkedMutex {
 public:
  ForkedMutex() noexcept;
  ForkedMutex(const ForkedMutex&) = delete;
  ForkedMutex& operator=(const ForkedMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  // Called in a child, which has one thread only.
  static void unlock_all_in_child() noexcept;

 private:
  std::mutex mutex_;
  ForkedMutex* next_;
};

}  // namespace bwgemm
