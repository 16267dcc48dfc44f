// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/junk.h"

#include <algorithm>
#include <cstring>

namespace bwgemm::vgpu {

Junk::Junk(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed)), bytes_{} {
  if (seed % 4 == 0) return;
  std::mt19937_64 words(seed);
  for (std::size_t i = 0; i < period; i += sizeof(std::uint64_t)) {
    const std::uint64_t value = words();
    std::memcpy(&bytes_[i], &value, sizeof value);
  }
  std::copy_n(bytes_.begin(), period, bytes_.begin() + period);
}

void Junk::fill(std::byte* to, std::size_t bytes) {
  const std::byte* from = next();
  for (std::size_t done = 0; done < bytes; done += period)
    std::copy_n(from, std::min(period, bytes - done), to + done);
}

}  // namespace bwgemm::vgpu
