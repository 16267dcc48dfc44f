// SPDX-License-Identifier: Apache-2.0
#include "launch/enqueue_order.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace bwgemm {

// Those of scratch at some of all addresses. The mutex is held for looking at the list only.
struct EnqueueOrder::Bucket {
  std::mutex mutex;
  EnqueueOrder* first = nullptr;
  int waiting = 0;
  std::atomic<int> ends{0};  // that were waited for, which is done without the mutex

  bool has(const void* scratch) const {
    const EnqueueOrder* one = first;
    while (one != nullptr && one->scratch_ != scratch) one = one->next_;
    return one != nullptr;
  }
};

EnqueueOrder::Bucket& EnqueueOrder::bucket_of(const void* scratch) {
  constexpr std::size_t alignment = 256;
  static constinit std::array<Bucket, 61> buckets{};
  return buckets[reinterpret_cast<std::uintptr_t>(scratch) / alignment % buckets.size()];
}

EnqueueOrder::EnqueueOrder(const void* scratch) : scratch_(scratch) {
  if (scratch == nullptr) return;
  Bucket& bucket = bucket_of(scratch);
  std::unique_lock lock(bucket.mutex);
  while (bucket.has(scratch)) {
    const int seen = bucket.ends.load(std::memory_order_relaxed);
    ++bucket.waiting;
    lock.unlock();
    bucket.ends.wait(seen, std::memory_order_relaxed);
    lock.lock();
    --bucket.waiting;
  }
  next_ = bucket.first;
  bucket.first = this;
}

EnqueueOrder::~EnqueueOrder() {
  if (scratch_ == nullptr) return;
  Bucket& bucket = bucket_of(scratch_);
  std::unique_lock lock(bucket.mutex);
  EnqueueOrder** at = &bucket.first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  if (bucket.waiting == 0) return;
  bucket.ends.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  bucket.ends.notify_all();
}

}  // namespace bwgemm
