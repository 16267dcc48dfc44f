// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for the names of embedded blobs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace bwgemm::vgpu::driver {

// In lower-case hexadecimal.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace bwgemm::vgpu::driver
