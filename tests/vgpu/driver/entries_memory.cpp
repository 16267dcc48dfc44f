// SPDX-License-Identifier: Apache-2.0
// Entry points: allocation, and what is known of an address.
#include <algorithm>

#include "vgpu/driver/driver.h"

using namespace bwgemm::vgpu::driver;

namespace {

constexpr std::size_t reservation_granule = std::size_t{2} << 20;
constexpr unsigned host_alloc_flags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;

void allocate_host(Driver& driver, void** host, std::size_t bytes, unsigned flags) {
  require_value(host != nullptr && (flags & ~host_alloc_flags) == 0);
  forbid_during_capture();
  *host = nullptr;
  if (bytes == 0) return;
  *host = reinterpret_cast<void*>(
      driver.heap.allocate_host(current_context(), bytes, MemoryKind::pinned, flags));
}

// The block that starts at the address and is of one of the kinds.
const Block& block_to_free(const Driver& driver, CUdeviceptr address,
                           std::initializer_list<MemoryKind> kinds) {
  const Block* block = driver.heap.starting_at(address);
  require_value(block != nullptr &&
                std::find(kinds.begin(), kinds.end(), block->kind) != kinds.end());
  return *block;
}

// Zero or null where nothing is known of the address.
void clear_attribute(void* value, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext*>(value) = nullptr; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(value) = 0; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(value) = 0; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: *static_cast<void**>(value) = nullptr; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(value) = 0; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(value) = -2; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(value) = 0; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<bool*>(value) = false; break;
    default: fail(CUDA_ERROR_INVALID_VALUE);
  }
}

void read_attribute(const Block& block, void* value, CUpointer_attribute attribute,
                    CUdeviceptr address) {
  const bool is_on_device = block.kind != MemoryKind::pinned;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) = block.context->handle();
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = is_on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(value) = address; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require_value(block.kind != MemoryKind::device);
      *static_cast<void**>(value) = reinterpret_cast<void*>(address);
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = block.kind == MemoryKind::managed ? 1 : 0;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = block.context->ordinal;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = block.address;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(value) = block.size; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<bool*>(value) = true; break;
    default: fail(CUDA_ERROR_INVALID_VALUE);
  }
}

// Null for addresses that are nobody's: reserved ones are not memory yet.
const Block* known_block(const Driver& driver, CUdeviceptr address) {
  const Block* block = driver.heap.find(address);
  return block != nullptr && block->kind != MemoryKind::reserved ? block : nullptr;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(address != nullptr && bytes > 0);
    forbid_during_capture();
    *address = driver.heap.allocate_device(current_context(), bytes);
  });
}

// Waits for the device, as drivers do: nobody may lean on that, but all may do it.
CUresult cuMemFree(CUdeviceptr address) {
  return call(Needs::working_context, [&](Driver& driver) {
    forbid_during_capture();
    if (address == 0) return;
    const Block& block = block_to_free(driver, address, {MemoryKind::device, MemoryKind::managed});
    driver.scheduler.finish_all_of(*block.context);
    driver.heap.free(address);
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream handle) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(address != nullptr);
    Stream& stream = stream_of(handle);
    // As a node of a graph it would be an allocation per launch.
    require(stream.capture == nullptr, CUDA_ERROR_NOT_SUPPORTED);
    forbid_during_capture();
    *address = bytes > 0 ? driver.heap.allocate_device(*stream.context, bytes) : 0;
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return call(Needs::working_context, [&](Driver& driver) {
    Stream& stream = stream_of(handle);
    if (address == 0) return;
    require(stream.capture == nullptr, CUDA_ERROR_NOT_SUPPORTED);
    static_cast<void>(block_to_free(driver, address, {MemoryKind::device}));
    enqueue(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, [address, &driver] {
      require(driver.heap.starting_at(address) != nullptr, CUDA_ERROR_ILLEGAL_ADDRESS);
      driver.heap.free(address);
    });
  });
}

CUresult cuMemAllocHost(void** host, std::size_t bytes) {
  return call(Needs::working_context,
              [&](Driver& driver) { allocate_host(driver, host, bytes, 0); });
}

CUresult cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
  return call(Needs::working_context,
              [&](Driver& driver) { allocate_host(driver, host, bytes, flags); });
}

CUresult cuMemFreeHost(void* host) {
  return call(Needs::working_context, [&](Driver& driver) {
    forbid_during_capture();
    if (host == nullptr) return;
    const auto address = reinterpret_cast<CUdeviceptr>(host);
    const Block& block = block_to_free(driver, address, {MemoryKind::pinned});
    driver.scheduler.finish_all_of(*block.context);
    driver.heap.free(address);
  });
}

CUresult cuMemHostRegister(void* host, std::size_t bytes, unsigned flags) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(host != nullptr && bytes > 0);
    forbid_during_capture();
    require(driver.heap.find(reinterpret_cast<CUdeviceptr>(host)) == nullptr,
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    driver.heap.register_host(current_context(), host, bytes, flags);
  });
}

CUresult cuMemHostUnregister(void* host) {
  return call(Needs::working_context, [&](Driver& driver) {
    forbid_during_capture();
    const auto address = reinterpret_cast<CUdeviceptr>(host);
    const Block* block = driver.heap.starting_at(address);
    require(block != nullptr && block->kind == MemoryKind::pinned,
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    driver.scheduler.finish_all_of(*block->context);
    driver.heap.free(address);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(address != nullptr && flags == 0);
    const Block* block = driver.heap.find(reinterpret_cast<CUdeviceptr>(host));
    require_value(block != nullptr && block->kind == MemoryKind::pinned);
    *address = reinterpret_cast<CUdeviceptr>(host);
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return call(Needs::working_context, [&](Driver& driver) {
    const Block* block = driver.heap.find(reinterpret_cast<CUdeviceptr>(host));
    require_value(flags != nullptr && block != nullptr && block->kind == MemoryKind::pinned);
    *flags = block->flags;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(address != nullptr && bytes > 0);
    require_value(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    forbid_during_capture();
    *address = driver.heap.allocate_host(current_context(), bytes, MemoryKind::managed, flags);
  });
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(Needs::working_context, [&](Driver& driver) {
    if (free != nullptr) *free = Heap::capacity() - driver.heap.bytes_in_use();
    if (total != nullptr) *total = current_context().model->memory_bytes;
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* size, CUdeviceptr address) {
  return call(Needs::working_context, [&](Driver& driver) {
    const Block* block = driver.heap.find(address);
    require(block != nullptr, CUDA_ERROR_NOT_FOUND);
    if (base != nullptr) *base = block->address;
    if (size != nullptr) *size = block->size;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long flags) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(address != nullptr && flags == 0);
    require_value(bytes > 0 && bytes % reservation_granule == 0);
    *address = driver.heap.reserve(Contexts::current(), bytes);
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return call(Needs::driver, [&](Driver& driver) {
    const Block& block = block_to_free(driver, address, {MemoryKind::reserved});
    require_value(block.size == bytes);
    driver.heap.free(address);
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return call(Needs::driver, [&](Driver& driver) {
    const Block* block = known_block(driver, address);
    require_value(value != nullptr && block != nullptr);
    read_attribute(*block, value, attribute, address);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr address) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(count > 0 && attributes != nullptr && values != nullptr);
    const Block* block = known_block(driver, address);
    for (unsigned i = 0; i < count; ++i) {
      clear_attribute(values[i], attributes[i]);
      const bool has_none =
          block == nullptr ||
          (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && block->kind == MemoryKind::device);
      if (!has_none) read_attribute(*block, values[i], attributes[i], address);
    }
  });
}
