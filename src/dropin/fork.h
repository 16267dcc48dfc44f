// SPDX-License-Identifier: Apache-2.0
// Forks: a child has one thread, and whatever its parent's other threads held locked stays locked.
#pragma once

#include <mutex>

namespace bwgemm::dropin {

// How many forks lie between the process that loaded the library and this one.
unsigned fork_count();

// The one mutex for what changes seldom. A thread that forks holds it meanwhile, so that in the
// child it is free and what it guards is whole. Nobody calls the dynamic linker while holding it: a
// thread inside the dynamic linker may be waiting for it.
std::mutex& seldom();

}  // namespace bwgemm::dropin
