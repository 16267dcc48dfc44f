// SPDX-License-Identifier: Apache-2.0
// Blob: what a pointer to code points to, and how long it is, which only the bytes themselves say.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace bwgemm::vgpu::driver {

struct Blob {
  enum class Kind { unknown, ptx, fatbin, cubin } kind;
  std::span<const std::byte> bytes;
};

Blob blob_at(const void* code);

// The first PTX of a fatbin that is stored as it is.
std::optional<std::string_view> uncompressed_ptx(const Blob& fatbin);

}  // namespace bwgemm::vgpu::driver
