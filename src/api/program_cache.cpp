// SPDX-License-Identifier: Apache-2.0
// A set-associative table with one mutex per set.
#include "api/program_cache.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bwgemm {

std::optional<std::size_t> ProgramCache::way_of(const Set& set, std::uint64_t hash,
                                                const CallKey& key) {
  for (std::size_t way = 0; way < ways; ++way)
    if (set.hashes[way] == hash && set.last_use[way] != 0 && set.entries[way]->key == key)
      return way;
  return std::nullopt;
}

ProgramCache::Found ProgramCache::find(const CallKey& key) {
  const std::uint64_t hash = key.hash();
  Set& set = sets_[hash % set_count];
  std::unique_lock lock(set.mutex);
  const auto way = way_of(set, hash, key);
  if (!way) {
    ++set.counters.not_found;
    return {{}, nullptr};
  }
  ++set.counters.found;
  set.last_use[*way] = ++set.clock;
  return {std::move(lock), &set.entries[*way]->program};
}

void ProgramCache::insert(const CallKey& key, Program program, std::uint64_t generation) {
  auto entry = std::make_unique<Entry>(Entry{key, std::make_shared<Program>(std::move(program))});
  const std::uint64_t hash = key.hash();
  Set& set = sets_[hash % set_count];
  const std::lock_guard lock(set.mutex);
  if (generation != this->generation()) return;
  const auto oldest = static_cast<std::size_t>(
      std::min_element(set.last_use.begin(), set.last_use.end()) - set.last_use.begin());
  const std::size_t way = way_of(set, hash, key).value_or(oldest);
  set.entries[way] = std::move(entry);
  set.last_use[way] = ++set.clock;
  set.hashes[way] = hash;
}

ProgramCache::Counters ProgramCache::counters() const {
  Counters sum;
  for (std::size_t i = 0; i < set_count; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sum.found += sets_[i].counters.found;
    sum.not_found += sets_[i].counters.not_found;
  }
  return sum;
}

void ProgramCache::clear() {
  // First: what is inserted into a set before it is emptied goes with it, and nothing comes after.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = 0; i < set_count; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sets_[i].last_use.fill(0);
  }
}

}  // namespace bwgemm
