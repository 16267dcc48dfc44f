// SPDX-License-Identifier: Apache-2.0
// What is made once for the process, by help of the dynamic linker. Threads that come at the same
// time each make it, and the first one's is kept. None waits for another: that one may be waiting
// for the dynamic linker, which the waiting one holds where a library's constructor calls; or a
// fork may have left it behind.
#pragma once

#include <atomic>

namespace bwgemm::dropin {

template <class Value>
const Value& made_once(std::atomic<const Value*>& kept, const Value* (*make)()) {
  const Value* now = kept.load(std::memory_order_acquire);
  if (now != nullptr) return *now;
  const Value* const made = make();
  if (kept.compare_exchange_strong(now, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *now;
}

}  // namespace bwgemm::dropin
