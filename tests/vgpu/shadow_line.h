// SPDX-License-Identifier: Apache-2.0
// ShadowLine: what a judge of memory knows of the granules of one line. Most lines are accessed by
// TMA as a whole, and stay one granule until somebody touches a part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace bwgemm::vgpu {

inline constexpr int shadow_line_shift = 7;
inline constexpr std::uint32_t shadow_line_bytes = 1 << shadow_line_shift;

template <class Granule>
struct ShadowLine {
  Granule whole{};
  std::unique_ptr<Granule[]> parts;

  // One of `count`, a power of two.
  Granule& part(std::uint64_t index, std::uint32_t count) {
    if (!parts) {
      parts = std::make_unique_for_overwrite<Granule[]>(count);
      std::fill_n(parts.get(), count, whole);
    }
    return parts[index & (count - 1)];
  }
  const Granule& at(std::uint64_t index, std::uint32_t count) const {
    return parts ? parts[index & (count - 1)] : whole;
  }
};

// Calls visit(granule, its index, how many it stands for) for those of [first, end): once for a
// whole line without parts. With `replaces` the visits leave all of them the same.
template <class Index, class LineOf, class Visit>
void for_each_granule(Index first, Index end, std::uint32_t per_line, bool replaces, LineOf line_of,
                      Visit visit) {
  while (first < end) {
    auto& line = line_of(first);
    const Index start = first & ~Index{per_line - 1};
    const Index next = std::min<Index>(start + per_line, end);
    const bool is_whole = next - first == per_line;
    if (is_whole && !line.parts) {
      visit(line.whole, first, per_line);
    } else {
      auto* const parts = &line.part(start, per_line);
      for (Index i = first; i < next; ++i) visit(parts[i - start], i, 1u);
      if (replaces && is_whole) {
        line.whole = parts[0];
        line.parts.reset();
      }
    }
    first = next;
  }
}

}  // namespace bwgemm::vgpu
