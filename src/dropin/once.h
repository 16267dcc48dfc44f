// SPDX-License-Identifier: Apache-2.0
// Makes a value once for the process, with help of the dynamic linker. Threads that come together
// each make one, and the first is kept. None waits for another: the other may be waiting for the
// dynamic linker's lock, which a thread in a library's constructor holds, or a fork may have left
// the other behind.
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
