// SPDX-License-Identifier: Apache-2.0
// ChoiceCache: what select() answered for the problems of one handle, so that warm calls do not run
// it. Of fixed size and without heap after construction. The handle's options are not in the key:
// setters that change them clear the cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "core/problem.h"
#include "select/select.h"

namespace bwgemm {

// Everything of a problem that select() may look at: sizes, strides, types, orders, whether scalars
// are known zeros, and of pointers their alignment, up to 256 bytes.
struct ChoiceKey {
  std::array<std::uint64_t, 13> words;
  bool operator==(const ChoiceKey&) const = default;
};

ChoiceKey choice_key(const Problem& problem);

class ChoiceCache {
 public:
  ChoiceCache() : sets_(std::make_unique<Set[]>(set_count)) {}

  std::optional<Choice> find(const ChoiceKey& key);
  void insert(const ChoiceKey& key, const Choice& choice);
  void clear();

 private:
  static constexpr std::size_t set_count = 64;
  static constexpr std::size_t ways = 4;

  struct Entry {
    bool is_used = false;
    ChoiceKey key{};
    Choice choice{};
  };
  struct Set {
    std::array<Entry, ways> entries{};
    std::size_t next = 0;  // to be replaced
  };

  Set& set_of(const ChoiceKey& key);

  std::mutex mutex_;
  std::unique_ptr<Set[]> sets_;
};

}  // namespace bwgemm
