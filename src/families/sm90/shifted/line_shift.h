// SPDX-License-Identifier: Apache-2.0
// Moving a line of 64 elements of an operand tile in shared memory: from where TMA's 16-byte units
// put it to where wgmma expects it. One thread moves a line, through its registers.
#pragma once

#include "device/ptx/shared_memory.h"
#include "device/residues.h"

namespace bwgemm::sm90 {

inline constexpr int line_units = 8;
inline constexpr int unit_words = 4;

// The eight units of a line as TMA wrote them, and in front of them the unit before.
struct RawLine {
  std::uint32_t words[(1 + line_units) * unit_words];

  BWGEMM_DEVICE void set_before(const std::uint32_t (&unit)[unit_words]) {
#pragma unroll
    for (int i = 0; i < unit_words; ++i) words[i] = unit[i];
  }
  BWGEMM_DEVICE void get_last(std::uint32_t (&unit)[unit_words]) const {
#pragma unroll
    for (int i = 0; i < unit_words; ++i) unit[i] = words[line_units * unit_words + i];
  }
};

// Where a line lies: 128 bytes whose units are swizzled.
struct LinePlace {
  std::uint32_t address, swizzle;

  // The line's tile starts at a multiple of 1024 bytes.
  BWGEMM_DEVICE explicit LinePlace(std::uint32_t line)
      : address(line), swizzle((line >> 7 & 7) * unit_bytes) {}
  BWGEMM_DEVICE std::uint32_t unit(int index) const {
    return address + (index * unit_bytes ^ swizzle);
  }
};

BWGEMM_DEVICE void read_line(const LinePlace& place, RawLine& raw) {
#pragma unroll
  for (int unit = 0; unit < line_units; ++unit) {
    std::uint32_t words[unit_words];
    ptx::ld_shared_v4(place.unit(unit), words);
#pragma unroll
    for (int i = 0; i < unit_words; ++i) raw.words[(1 + unit) * unit_words + i] = words[i];
  }
}

// Two elements of a raw line in one register. Callers pass constant indices.
BWGEMM_DEVICE std::uint32_t element_pair(const RawLine& raw, int low, int high) {
  const std::uint32_t low_half = low % 2 == 0 ? 0x10 : 0x32;
  const std::uint32_t high_half = high % 2 == 0 ? 0x5400 : 0x7600;
  return __byte_perm(raw.words[low / 2], raw.words[high / 2], low_half | high_half);
}

// The line begins `head` elements before the raw units.
template <int head>
BWGEMM_DEVICE void write_line(const LinePlace& place, const RawLine& raw) {
#pragma unroll
  for (int unit = 0; unit < line_units; ++unit) {
    std::uint32_t words[unit_words];
#pragma unroll
    for (int i = 0; i < unit_words; ++i) {
      const int first = unit_elements - head + unit * unit_elements + 2 * i;
      words[i] = element_pair(raw, first, first + 1);
    }
    ptx::st_shared_v4(place.unit(unit), words[0], words[1], words[2], words[3]);
  }
}

BWGEMM_DEVICE void write_line(const LinePlace& place, const RawLine& raw, int head) {
  switch (head) {
    case 0: break;  // it is in its place
    case 1: write_line<1>(place, raw); break;
    case 2: write_line<2>(place, raw); break;
    case 3: write_line<3>(place, raw); break;
    case 4: write_line<4>(place, raw); break;
    case 5: write_line<5>(place, raw); break;
    case 6: write_line<6>(place, raw); break;
    default: write_line<7>(place, raw); break;
  }
}

// Writes element 8i + j at position 8j + i, its place in an MN-major operand that is loaded class
// by class. A unit then holds what is 8 elements apart, and the head only says which unit.
BWGEMM_DEVICE void write_line_interleaved(const LinePlace& place, const RawLine& raw, int head) {
  asm volatile("" : "+r"(head));  // or its 15 comparisons are made once and kept in registers
#pragma unroll
  for (int first = 1; first < 2 * unit_elements; ++first) {
    const int unit = first - unit_elements + head;
    if (unit < 0 || unit >= line_units) continue;
    std::uint32_t words[unit_words];
#pragma unroll
    for (int i = 0; i < unit_words; ++i)
      words[i] =
          element_pair(raw, first + 2 * i * unit_elements, first + (2 * i + 1) * unit_elements);
    ptx::st_shared_v4(place.unit(unit), words[0], words[1], words[2], words[3]);
  }
}

}  // namespace bwgemm::sm90
