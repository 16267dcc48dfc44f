// SPDX-License-Identifier: Apache-2.0
// Heap: which addresses callers were given, what kind of memory is behind them and which context
// owns it. The bytes themselves are GlobalMemory's.
#pragma once

#include <cstddef>
#include <map>

#include "vgpu/driver/api.h"
#include "vgpu/memory.h"

namespace bwgemm::vgpu::driver {

struct Context;

enum class MemoryKind { device, pinned, managed, reserved };

struct Block {
  CUdeviceptr address;
  std::size_t size;
  MemoryKind kind;
  Context* context;
  unsigned flags;  // of pinned memory

  bool contains(CUdeviceptr from, std::size_t bytes) const {
    return from >= address && bytes <= size && from - address <= size - bytes;
  }
};

class Heap {
 public:
  // Of all devices together; the host has to hold it. BWGEMM_VGPU_MEMORY_MIB changes it.
  static std::size_t capacity();

  CUdeviceptr allocate_device(Context& context, std::size_t bytes);
  CUdeviceptr allocate_host(Context& context, std::size_t bytes, MemoryKind kind, unsigned flags);
  CUdeviceptr reserve(Context* context, std::size_t bytes);  // addresses with nothing behind them
  void register_host(Context& context, void* host, std::size_t bytes, unsigned flags);
  void free(CUdeviceptr address);  // of a block
  void free_all_of(const Context& context);

  // The block that contains the address, its first one or any; null if none.
  const Block* find(CUdeviceptr address) const;
  const Block* starting_at(CUdeviceptr address) const;

  std::size_t bytes_in_use() const { return bytes_in_use_; }
  GlobalMemory& memory() { return memory_; }

 private:
  void insert(const Block& block) { blocks_.emplace(block.address, block); }

  GlobalMemory memory_;
  std::map<CUdeviceptr, Block> blocks_;
  std::map<CUdeviceptr, void*> host_storage_;     // of blocks made by allocate_host
  std::size_t bytes_in_use_ = 0;                  // of device memory
  CUdeviceptr next_reserved_ = 0x6000'0000'0000;  // far from what GlobalMemory hands out
};

}  // namespace bwgemm::vgpu::driver
