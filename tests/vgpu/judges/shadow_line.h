// SPDX-License-Identifier: Apache-2.0
// ShadowLine: what a judge of memory knows of the granules of one line. Most lines are accessed by
// TMA as a whole, and stay one granule until somebody touches a part; most of the others by 16
// bytes at a time, and have parts of that size until an access is narrower or begins elsewhere.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bwgemm::vgpu {

inline constexpr int shadow_line_shift = 7;
inline constexpr std::uint32_t shadow_line_bytes = 1 << shadow_line_shift;

inline constexpr int widest_part_shift = 4;  // bytes

// Arrays that lines have given back, by the logarithm of their length: lines are split and joined
// all the time.
template <class Granule>
class SpareParts {
 public:
  // So many, with any content.
  static Granule* take(std::uint32_t count) {
    auto& spare = of_thread().spare_[std::countr_zero(count)];
    if (spare.empty()) return new Granule[count];
    Granule* const parts = spare.back().release();
    spare.pop_back();
    return parts;
  }
  static void give_back(Granule* parts, std::uint32_t count) {
    of_thread().spare_[std::countr_zero(count)].emplace_back(parts);
  }

 private:
  static SpareParts& of_thread() {
    static thread_local SpareParts spare;
    return spare;
  }
  std::array<std::vector<std::unique_ptr<Granule[]>>, shadow_line_shift + 1> spare_;
};

template <class Granule>
struct ShadowLine {
  Granule whole{};
  Granule* parts = nullptr;      // owned; null: none
  std::uint16_t part_shift = 0;  // a part is so many granules, as a power of two
  std::uint16_t count = 0;       // of parts

  ShadowLine() = default;
  ShadowLine(const ShadowLine&) = delete;
  ShadowLine& operator=(const ShadowLine&) = delete;
  ~ShadowLine() { join(); }

  void join() {
    if (parts) SpareParts<Granule>::give_back(parts, count);
    parts = nullptr;
  }

  // Into parts of at most 2^shift of the `per_line` granules.
  void split(std::uint32_t per_line, int shift) {
    if (parts && part_shift <= shift) return;
    const std::uint32_t finer_count = per_line >> shift;
    Granule* const finer = SpareParts<Granule>::take(finer_count);
    for (std::uint32_t i = 0; i < finer_count; ++i)
      finer[i] = parts ? parts[i >> (part_shift - shift)] : whole;
    join();
    parts = finer;
    part_shift = static_cast<std::uint16_t>(shift);
    count = static_cast<std::uint16_t>(finer_count);
  }
  // The one that stands for granule `index`.
  const Granule& at(std::uint64_t index, std::uint32_t per_line) const {
    return parts ? parts[(index & (per_line - 1)) >> part_shift] : whole;
  }
  // The part that stands for [first, first + 2^shift), if there is one for just these; else null.
  Granule* just(std::uint64_t first, std::uint32_t per_line, int shift) const {
    const std::uint64_t inside = first & (per_line - 1);
    const bool is_a_part = parts && part_shift == shift && (inside & ((1u << shift) - 1)) == 0;
    return is_a_part ? &parts[inside >> shift] : nullptr;
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
        line.join();
      }
    }
    first = next;
  }
}

}  // namespace bwgemm::vgpu
