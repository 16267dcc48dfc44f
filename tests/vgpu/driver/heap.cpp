// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/heap.h"

#include <cstdlib>
#include <iterator>
#include <vector>

#include "vgpu/driver/status.h"

namespace bwgemm::vgpu::driver {
namespace {

constexpr std::size_t host_page = 4096;
constexpr std::size_t device_alignment = 512;

std::size_t rounded_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

std::size_t Heap::capacity() {
  const char* text = std::getenv("BWGEMM_VGPU_MEMORY_MIB");
  return (text != nullptr ? std::strtoull(text, nullptr, 10) : std::size_t{4096}) << 20;
}

CUdeviceptr Heap::allocate_device(Context& context, std::size_t bytes) {
  require(bytes <= capacity() && bytes_in_use_ <= capacity() - bytes, CUDA_ERROR_OUT_OF_MEMORY);
  const CUdeviceptr address = memory_.allocate(bytes, device_alignment);
  insert({address, bytes, MemoryKind::device, &context, 0});
  bytes_in_use_ += bytes;
  return address;
}

CUdeviceptr Heap::allocate_host(Context& context, std::size_t bytes, MemoryKind kind,
                                unsigned flags) {
  void* host = std::aligned_alloc(host_page, rounded_up(bytes, host_page));
  require(host != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  memory_.register_host(host, bytes);
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  insert({address, bytes, kind, &context, flags});
  host_storage_.emplace(address, host);
  return address;
}

CUdeviceptr Heap::reserve(Context* context, std::size_t bytes) {
  const CUdeviceptr address = next_reserved_;
  next_reserved_ += bytes;
  insert({address, bytes, MemoryKind::reserved, context, 0});
  return address;
}

void Heap::register_host(Context& context, void* host, std::size_t bytes, unsigned flags) {
  memory_.register_host(host, bytes);
  insert({reinterpret_cast<CUdeviceptr>(host), bytes, MemoryKind::pinned, &context, flags});
}

void Heap::free(CUdeviceptr address) {
  const auto found = blocks_.find(address);
  if (found->second.kind == MemoryKind::device) bytes_in_use_ -= found->second.size;
  if (found->second.kind != MemoryKind::reserved) memory_.free(address);
  blocks_.erase(found);
  if (const auto storage = host_storage_.find(address); storage != host_storage_.end()) {
    std::free(storage->second);
    host_storage_.erase(storage);
  }
}

void Heap::free_all_of(const Context& context) {
  std::vector<CUdeviceptr> owned;
  for (const auto& [address, block] : blocks_)
    if (block.context == &context) owned.push_back(address);
  for (const CUdeviceptr address : owned) free(address);
}

const Block* Heap::find(CUdeviceptr address) const {
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  const Block& block = std::prev(next)->second;
  return address - block.address < block.size ? &block : nullptr;
}

const Block* Heap::starting_at(CUdeviceptr address) const {
  const auto found = blocks_.find(address);
  return found != blocks_.end() ? &found->second : nullptr;
}

}  // namespace bwgemm::vgpu::driver
