// SPDX-License-Identifier: Apache-2.0
// GlobalMemory: the device memory of one virtual GPU. Owns the bytes behind device addresses and
// knows which of them were ever written. Addresses are never handed out twice, and no two
// allocations touch, so that a stray address hits nothing instead of a neighbour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace bwgemm::vgpu {

// One contiguous range of device addresses. Uninitialised bytes hold `poison`: NaN in every format.
class Allocation {
 public:
  static constexpr std::byte poison{0xff};

  Allocation(std::uint64_t address, std::size_t bytes);                   // owns its bytes
  Allocation(std::uint64_t address, std::size_t bytes, std::byte* host);  // bytes of the caller

  std::uint64_t address() const { return address_; }
  std::size_t size() const { return size_; }
  bool contains(std::uint64_t address, std::size_t bytes) const {
    return address >= address_ && bytes <= size_ && address - address_ <= size_ - bytes;
  }
  std::byte* host(std::uint64_t address) const { return bytes_ + (address - address_); }

  // Both expect a range inside the allocation.
  void mark_initialised(std::uint64_t address, std::size_t bytes);
  bool is_initialised(std::uint64_t address, std::size_t bytes) const {
    if (all_written_) return true;
    const std::size_t first = address - address_, bit = first % word_bits;
    if (bytes == 0 || bit + bytes > word_bits) return are_written(first, bytes);
    const std::uint64_t ones = ~std::uint64_t{0} >> (word_bits - bytes);
    return (written_[first / word_bits] >> bit & ones) == ones;
  }

 private:
  static constexpr std::size_t word_bits = 64;

  bool are_written(std::size_t first, std::size_t bytes) const;

  std::uint64_t address_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> owned_;
  std::byte* bytes_;
  std::vector<std::uint64_t> written_;  // a bit per byte, unless all are
  bool all_written_ = false;
};

// All members may be called from several threads at once. The contents themselves are not guarded:
// two operations that touch the same bytes are ordered by whoever issues them.
class GlobalMemory {
 public:
  // A new address, aligned to `alignment` (a power of two). Zero bytes make a range that contains
  // nothing. Throws std::bad_alloc if the host has no memory left.
  std::uint64_t allocate(std::size_t bytes, std::size_t alignment = 256);
  // Makes host memory reachable by kernels under its own address (pinned memory). Counts as
  // written.
  void register_host(void* host, std::size_t bytes);
  // Ends an allocation or registration. False: `address` does not start one.
  bool free(std::uint64_t address);

  // The bytes behind [address, address + bytes); null if any of them is outside of one allocation.
  void* host(std::uint64_t address, std::size_t bytes) const;
  // The allocation that contains `address`; null if none. It stays valid while the pointer is held.
  std::shared_ptr<Allocation> find(std::uint64_t address) const;

  void mark_initialised(std::uint64_t address, std::size_t bytes);
  bool is_initialised(std::uint64_t address, std::size_t bytes) const;

  std::size_t bytes_in_use() const;
  std::size_t allocations() const;

 private:
  void insert(std::shared_ptr<Allocation> allocation);

  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Allocation>> allocations_;  // by first address
  std::uint64_t next_address_ = 0x7000'0000'0000;
};

}  // namespace bwgemm::vgpu
