// SPDX-License-Identifier: Apache-2.0
// EnqueueOrder: held from a call's first launch to its last, so that no other call that uses the
// same scratch enqueues between them, from whatever thread, nor, if it is a caller's workspace, of
// whatever handle. Calls with other scratch never wait for it: a launch may block until the stream
// moves on, which may take a call of another thread. Allocates nothing.
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
