// SPDX-License-Identifier: Apache-2.0
// The heap of this program, whose malloc and relatives are interposed: what a thread asks of it is
// counted, or refused. Without effect under sanitizers, which have a heap of their own.
#pragma once

#include "support/sanitized.h"

namespace bwgemm::test {

inline constexpr bool has_own_heap = !BWGEMM_TEST_SANITIZED;

// Since the thread's last call of it; then counts anew.
void count_heap_calls();
long counted_heap_calls();  // and counts no longer

// The n-th allocation of the thread from now on, from 1, finds no memory; 0: none.
void fail_allocation(long n);
// Whether it was reached.
bool has_failed_allocation();

template <class Body>
long heap_calls_of(const Body& body) {
  count_heap_calls();
  body();
  return counted_heap_calls();
}

}  // namespace bwgemm::test
