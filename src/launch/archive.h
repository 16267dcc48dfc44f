// SPDX-License-Identifier: Apache-2.0
// Archive: the compiled kernels inside the library, one blob per row and target.
//
// Layout, little-endian, offsets from its start; packaging/pack_archive.py writes it:
//   header   char magic[8] "BWGEMMAR", u32 version, u32 entries
//   entries  char name[96], char target[16], u64 offset, u64 size, u8 sha256[32]
//   blobs    each at a multiple of 64, a fatbin with the code of one kernel for one target
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/device_facts.h"

namespace bwgemm {

// "sm_90a", "sm_100a" or "sm_100f": the code that a device of this compute capability, which
// is_supported(), runs.
std::string_view target_of(const DeviceFacts& facts);

class Archive {
 public:
  // Error(INTERNAL_ERROR) if the bytes are not an archive.
  explicit Archive(std::span<const unsigned char> bytes);

  // The one that the build put into the library.
  static Archive embedded();

  // A library may be built without some.
  bool has(std::string_view name, std::string_view target) const;
  // Error(NOT_SUPPORTED) if there is none.
  std::span<const unsigned char> find(std::string_view name, std::string_view target) const;

 private:
  std::optional<std::span<const unsigned char>> found(std::string_view name,
                                                      std::string_view target) const;

  std::span<const unsigned char> bytes_;
};

}  // namespace bwgemm
