// SPDX-License-Identifier: Apache-2.0
// The memory of descriptors and layouts of cuBLASLt, which programs may keep on their own stack.
// cuBLASLt's getters cost about 10 ns for each of some seventy attributes. Objects with equal
// memory have equal attributes: so what was read of one is kept with an image of its memory.
//
// That this holds of a copy of cuBLASLt is tried once, with every attribute that the copy has: a
// new value must change the memory, and a copy of the memory must have the new value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dropin/lt_defaults.h"

namespace bwgemm::dropin {

// As cublasLt.h of version 13 publishes the sizes.
using LtDescImage = std::array<std::uint64_t, 32>;
using LtLayoutImage = std::array<std::uint64_t, 8>;

struct LtImages {
  bool tell;                    // whether images decide about all attributes but `rest`
  std::size_t bias_at, aux_at;  // words of a descriptor that are these pointers
  LtDefaults shown, rest;       // of the defaults: what images decide about, and what not
};

LtImages images_of(const LtGetters& getters, const LtMakers& makers, const LtDefaults& defaults);

// A table of what was read, by images. A place has the last image that fell to it.
template <class Image, class Values, std::size_t places>
class LtTable {
 public:
  struct Entry {
    Image image;
    Values values;
    bool is_used;
  };

  // The place of an image; it holds that image only if has() says so.
  Entry& place(const Image& image) { return entries_[hash(image) % places]; }
  static bool has(const Entry& entry, const Image& image) {
    return entry.is_used && entry.image == image;
  }

 private:
  static std::size_t hash(const Image& image) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;
    std::uint64_t lanes[4] = {1, 2, 3, 4};
    for (std::size_t at = 0; at < image.size(); at += 4)
      for (std::size_t lane = 0; lane < 4; ++lane)
        lanes[lane] = (lanes[lane] ^ image[at + lane]) * odd;
    const std::uint64_t all = (lanes[0] ^ lanes[1] >> 17) + (lanes[2] ^ lanes[3] >> 23);
    return static_cast<std::size_t>(all * odd >> 40);
  }

  std::array<Entry, places> entries_{};
};

}  // namespace bwgemm::dropin
