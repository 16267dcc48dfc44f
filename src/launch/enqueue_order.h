// SPDX-License-Identifier: Apache-2.0
// EnqueueOrder: a lock on scratch, held from a call's first launch to its last. Calls with the same
// scratch, from any thread or handle, cannot enqueue between them. Calls with other scratch never
// wait for it, because a launch may block until the stream moves on, and that may need a call of
// another thread. Allocates nothing.
#pragma once

namespace bwgemm {

class EnqueueOrder {
 public:
  explicit EnqueueOrder(const void* scratch);  // null: none
  ~EnqueueOrder();
  EnqueueOrder(const EnqueueOrder&) = delete;
  EnqueueOrder& operator=(const EnqueueOrder&) = delete;

 private:
  struct Bucket;
  static Bucket& bucket_of(const void* scratch);

  const void* scratch_;
  EnqueueOrder* next_ = nullptr;  // in the list of those that live
};

}  // namespace bwgemm
