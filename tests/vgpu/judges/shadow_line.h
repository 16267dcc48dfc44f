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
  for (Index i = first; i < end;) {
    auto& line = line_of(i);
    const bool is_whole = (i & (per_line - 1)) == 0 && i + per_line <= end;
    if (is_whole && !line.parts) {
      visit(line.whole, i, per_line);
      i += per_line;
      continue;
    }
    visit(line.part(i, per_line), i, 1u);
    ++i;
    if (replaces && (i & (per_line - 1)) == 0 && i >= first + per_line) {
      line.whole = line.parts[0];
      line.parts.reset();
    }
  }
}

}  // namespace bwgemm::vgpu
