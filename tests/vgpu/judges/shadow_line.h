// SPDX-License-Identifier: Apache-2.0
// ShadowLine: what a judge of memory knows of the granules of one line. Most lines are accessed by
// TMA as a whole, and stay one granule until somebody touches a part; most of the others by 16
// bytes at a time, and have parts of that size until an access is narrower or begins elsewhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace bwgemm::vgpu {

inline constexpr int shadow_line_shift = 7;
inline constexpr std::uint32_t shadow_line_bytes = 1 << shadow_line_shift;

inline constexpr int widest_part_shift = 4;  // bytes

template <class Granule>
struct ShadowLine {
  Granule whole{};
  std::unique_ptr<Granule[]> parts;
  int part_shift = 0;  // a part is so many granules, as a power of two

  // Into parts of at most 2^shift of the `per_line` granules.
  void split(std::uint32_t per_line, int shift) {
    if (parts && part_shift <= shift) return;
    const std::uint32_t count = per_line >> shift;
    auto finer = std::make_unique_for_overwrite<Granule[]>(count);
    for (std::uint32_t i = 0; i < count; ++i)
      finer[i] = parts ? parts[i >> (part_shift - shift)] : whole;
    parts = std::move(finer);
    part_shift = shift;
  }
  // The one that stands for granule `index`.
  const Granule& at(std::uint64_t index, std::uint32_t per_line) const {
    return parts ? parts[(index & (per_line - 1)) >> part_shift] : whole;
  }
  // The granule behind those that at(index) stands for.
  template <class Index>
  Index behind(Index index, std::uint32_t per_line) const {
    const Index count = parts ? Index{1} << part_shift : Index{per_line};
    return (index & ~(count - 1)) + count;
  }
};

// Calls visit(granule, its index, how many it stands for) for those of [first, end), of 2^shift
// bytes each: once for a whole line without parts. With `replaces` the visits leave all of them the
// same.
template <class Index, class LineOf, class Visit>
void for_each_granule(Index first, Index end, int granule_shift, bool replaces, LineOf line_of,
                      Visit visit) {
  const std::uint32_t per_line = shadow_line_bytes >> granule_shift;
  while (first < end) {
    auto& line = line_of(first);
    const Index start = first & ~Index{per_line - 1};
    const Index next = std::min<Index>(start + per_line, end);
    const bool is_whole = next - first == per_line;
    if (is_whole && !line.parts) {
      visit(line.whole, first, per_line);
    } else {
      const int widest = std::max(widest_part_shift - granule_shift, 0);
      line.split(per_line, std::min(widest, std::countr_zero(first | next)));
      const std::uint32_t step = 1u << line.part_shift;
      for (Index i = first; i < next; i += step)
        visit(line.parts[(i - start) >> line.part_shift], i, step);
      if (replaces && is_whole) {
        line.whole = line.parts[0];
        line.parts.reset();
      }
    }
    first = next;
  }
}

}  // namespace bwgemm::vgpu
