// SPDX-License-Identifier: Apache-2.0
#include "vgpu/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bwgemm::vgpu {
namespace {

// Between allocations, and what an allocation's address is a multiple of at least. As large as a
// kernel's wildest plausible overrun by a row or two.
constexpr std::uint64_t red_zone = 1 << 20;

// Calls visit(word, mask) for the bits [first, first + count) of a bit array.
template <class Visit>
void for_each_word(std::size_t first, std::size_t count, std::size_t word_bits, Visit visit) {
  const std::size_t end = first + count;
  while (first < end) {
    const std::size_t offset = first % word_bits;
    const std::size_t bits = std::min(word_bits - offset, end - first);
    const std::uint64_t ones = bits == word_bits ? ~0ull : (1ull << bits) - 1;
    visit(first / word_bits, ones << offset);
    first += bits;
  }
}

}  // namespace

Allocation::Allocation(std::uint64_t address, std::size_t bytes)
    : address_(address),
      size_(bytes),
      owned_(new std::byte[std::max<std::size_t>(bytes, 1)]),
      bytes_(owned_.get()),
      written_(bytes / word_bits + 1) {
  std::memset(bytes_, static_cast<int>(poison), bytes);
}

Allocation::Allocation(std::uint64_t address, std::size_t bytes, std::byte* host)
    : address_(address), size_(bytes), bytes_(host), all_written_(true) {}

void Allocation::mark_initialised(std::uint64_t address, std::size_t bytes) {
  if (all_written_) return;
  if (bytes == size_) {
    all_written_ = true;
    return;
  }
  for_each_word(address - address_, bytes, word_bits,
                [&](std::size_t word, std::uint64_t mask) { written_[word] |= mask; });
}

bool Allocation::are_written(std::size_t first, std::size_t bytes) const {
  bool all = true;
  for_each_word(first, bytes, word_bits, [&](std::size_t word, std::uint64_t mask) {
    all &= (written_[word] & mask) == mask;
  });
  return all;
}

std::uint64_t GlobalMemory::allocate(std::size_t bytes, std::size_t alignment) {
  const std::unique_lock lock(mutex_);
  const std::uint64_t step = std::max<std::uint64_t>(alignment, 1);
  const std::uint64_t address = (next_address_ + step - 1) / step * step;
  insert(std::make_shared<Allocation>(address, bytes));
  next_address_ = (address + bytes + 2 * red_zone - 1) / red_zone * red_zone;
  return address;
}

void GlobalMemory::register_host(void* host, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  insert(std::make_shared<Allocation>(reinterpret_cast<std::uint64_t>(host), bytes,
                                      static_cast<std::byte*>(host)));
}

void GlobalMemory::insert(std::shared_ptr<Allocation> allocation) {
  const std::uint64_t address = allocation->address();
  allocations_[address] = std::move(allocation);
}

bool GlobalMemory::free(std::uint64_t address) {
  const std::unique_lock lock(mutex_);
  return allocations_.erase(address) > 0;
}

std::shared_ptr<Allocation> GlobalMemory::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const auto& candidate = std::prev(after)->second;
  return candidate->contains(address, 1) ? candidate : nullptr;
}

void* GlobalMemory::host(std::uint64_t address, std::size_t bytes) const {
  const auto allocation = find(address);
  return allocation && allocation->contains(address, bytes) ? allocation->host(address) : nullptr;
}

void GlobalMemory::mark_initialised(std::uint64_t address, std::size_t bytes) {
  const auto allocation = find(address);
  if (allocation && allocation->contains(address, bytes))
    allocation->mark_initialised(address, bytes);
}

bool GlobalMemory::is_initialised(std::uint64_t address, std::size_t bytes) const {
  const auto allocation = find(address);
  return allocation && allocation->contains(address, bytes) &&
         allocation->is_initialised(address, bytes);
}

std::size_t GlobalMemory::bytes_in_use() const {
  const std::shared_lock lock(mutex_);
  std::size_t total = 0;
  for (const auto& [address, allocation] : allocations_) total += allocation->size();
  return total;
}

std::size_t GlobalMemory::allocations() const {
  const std::shared_lock lock(mutex_);
  return allocations_.size();
}

}  // namespace bwgemm::vgpu
