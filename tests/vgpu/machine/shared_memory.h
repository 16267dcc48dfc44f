// SPDX-License-Identifier: Apache-2.0
// SharedMemory: the bytes of a CTA's shared window. They begin as junk or poison, which is put into
// a block of them when the block is first reached: most CTAs of a test use a small part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "vgpu/machine/junk.h"
#include "vgpu/memory.h"

namespace bwgemm::vgpu {

class SharedMemory {
 public:
  // `junk`: a period of it, which outlives this; null: poison.
  SharedMemory(std::uint32_t bytes, const std::byte* junk)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(bytes)), size_(bytes), junk_(junk) {}

  std::size_t size() const { return size_; }

  // At least one byte, inside of the window.
  std::byte* reach(std::uint32_t offset, std::uint32_t bytes) {
    const std::uint32_t first = offset / block, last = (offset + bytes - 1) / block;
    for (std::uint32_t i = first; i <= last; ++i)
      if (missing_ >> i & 1) fill(i);
    return &bytes_[offset];
  }
  // Of what was reached before.
  std::byte& operator[](std::uint32_t offset) { return bytes_[offset]; }
  const std::byte& operator[](std::uint32_t offset) const { return bytes_[offset]; }

 private:
  static constexpr std::uint32_t block = Junk::period;

  void fill(std::uint32_t number) {
    missing_ &= ~(std::uint64_t{1} << number);
    std::byte* const to = &bytes_[number * block];
    const std::size_t count = std::min(block, size_ - number * block);
    if (junk_)
      std::memcpy(to, junk_, count);
    else
      std::memset(to, static_cast<int>(Allocation::poison), count);
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::uint32_t size_;
  const std::byte* junk_;
  std::uint64_t missing_ = ~std::uint64_t{0};  // blocks that nobody has reached, a bit for each
};

}  // namespace bwgemm::vgpu
