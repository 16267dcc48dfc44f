// SPDX-License-Identifier: Apache-2.0
// Access: how a CTA loads or stores a two-dimensional piece of memory. All accesses have the widest
// width that pointers and strides allow. Units of this width are dealt to the threads.
#pragma once

#include "device/params.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/operand_memory.h"
#include "families/direct/layout.h"

namespace bwgemm::direct {

// Bits set in any distance between two accesses: an access may be as wide as the lowest of them.
// A stride along an extent of one is never taken and may be anything.
struct Alignment {
  std::uint64_t bits = 16;  // the widest access

  BWGEMM_DEVICE void add(const void* address) { bits |= reinterpret_cast<std::uintptr_t>(address); }
  BWGEMM_DEVICE void add(std::int64_t stride_bytes, std::int64_t extent) {
    if (extent > 1) bits |= static_cast<std::uint64_t>(stride_bytes);
  }
  BWGEMM_DEVICE int bytes() const {
    const int low = static_cast<int>(bits & 31);
    return low & -low;
  }
};

// A piece of 2^log2_line contiguous elements per line is cut into units of `width` elements, dealt
// to the threads in memory order: unit i of a thread lies i * line_step lines below unit 0.
struct UnitMap {
  int line, column, log2_line_step;

  BWGEMM_DEVICE UnitMap(int thread, int width, int log2_line)
      : line((thread * width) >> log2_line),
        column((thread * width) & ((1 << log2_line) - 1)),
        log2_line_step(31 - __clz(threads * width) - log2_line) {}

  BWGEMM_DEVICE int line_step() const { return 1 << log2_line_step; }
  // How many of the thread's units lie in the first `lines` lines.
  BWGEMM_DEVICE int units_in(int lines) const {
    return (lines - line + line_step() - 1) >> log2_line_step;
  }
};

constexpr int words_of(int bytes) {
  return (bytes + 3) / 4;
}

template <int bytes>
BWGEMM_DEVICE void load_global(const void* address, std::uint32_t* value) {
  if constexpr (bytes == 16)
    ptx::ld_global_v4(address, value[0], value[1], value[2], value[3]);
  else if constexpr (bytes == 8)
    ptx::ld_global_v2(address, value[0], value[1]);
  else if constexpr (bytes == 4)
    value[0] = ptx::ld_global(address);
  else
    value[0] = ptx::ld_global_u16(address);
}

template <int bytes>
BWGEMM_DEVICE void store_global(void* address, const std::uint32_t* value) {
  if constexpr (bytes == 16)
    ptx::st_global_v4(address, value[0], value[1], value[2], value[3]);
  else if constexpr (bytes == 8)
    ptx::st_global_v2(address, value[0], value[1]);
  else if constexpr (bytes == 4)
    ptx::st_global(address, value[0]);
  else
    ptx::st_global_u16(address, value[0]);
}

}  // namespace bwgemm::direct
