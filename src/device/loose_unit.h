// SPDX-License-Identifier: Apache-2.0
// LooseUnit: 16 bytes of a line (a row or column of a matrix that is contiguous in memory) that
// starts at any address, on their way to an aligned address. A thread loads the two aligned 16-byte
// units that contain them, and shifts the result. Bytes behind the end of the line are not read and
// become zero. Bytes before its start may be read, but only those in the aligned unit of its first
// element.
#pragma once

#include "device/ptx/global_memory.h"

namespace bwgemm {

// Where one lies in memory.
struct LoosePlace {
  static constexpr int unit_bytes = 16, unit_elements = 8;

  std::uintptr_t address;  // of the unit's first element
  int left;                // elements of the line from there on; 0 or less: the unit is outside

  // Bytes in front of the unit in the aligned unit that holds its first element.
  BWGEMM_DEVICE int before() const { return static_cast<int>(address % unit_bytes); }
  // Whether the line has all of the aligned units that hold the unit.
  BWGEMM_DEVICE bool is_whole() const {
    const int before = this->before();
    return left >= (before == 0 ? unit_elements : 2 * unit_elements - before / 2);
  }
};

// What was loaded of a unit, before it is shifted to its place.
class LooseUnit {
 public:
  static constexpr int words = LoosePlace::unit_bytes / 4;

  BWGEMM_DEVICE void load_whole(const LoosePlace& place) {
    before_ = place.before();
    const char* const unit = reinterpret_cast<const char*>(place.address - before_);
    std::uint32_t high[words];
    ptx::ld_global_v4(unit, words_[0], words_[1], words_[2], words_[3]);
    ptx::ld_global_v4_if(before_ != 0, unit + LoosePlace::unit_bytes, high);
#pragma unroll
    for (int i = 0; i < words; ++i) words_[words + i] = high[i];
  }

  // Element by element, where the line ends in one of those units; zeros behind its end.
  BWGEMM_DEVICE void load_elements(const LoosePlace& place) {
    before_ = 0;
    const char* const first = reinterpret_cast<const char*>(place.address);
#pragma unroll
    for (int i = 0; i < 2 * words; ++i) words_[i] = 0;
#pragma unroll
    for (int i = 0; i < LoosePlace::unit_elements; ++i)
      words_[i / 2] |= ptx::ld_global_u16_if(i < place.left, first + 2 * i) << (i % 2 * 16);
  }

  BWGEMM_DEVICE void get_shifted(std::uint32_t (&to)[words]) const {
    std::uint32_t from[2 * words];
#pragma unroll
    for (int i = 0; i < 2 * words; ++i) from[i] = words_[i];
    skip<2>(from, (before_ & 8) != 0);
    skip<1>(from, (before_ & 4) != 0);
#pragma unroll
    for (int i = 0; i < words; ++i)
      to[i] = __funnelshift_r(from[i], from[i + 1], 8 * (before_ & 2));
  }

 private:
  // So many words at the front; of the last ones, which have no successor, none is needed.
  template <int count>
  BWGEMM_DEVICE static void skip(std::uint32_t (&from)[2 * words], bool condition) {
#pragma unroll
    for (int i = 0; i + count < 2 * words; ++i) from[i] = condition ? from[i + count] : from[i];
  }

  std::uint32_t words_[2 * words];
  int before_;
};

}  // namespace bwgemm
