// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {
namespace {

enum class Memory { device, pinned, pageable };

std::size_t extent(const Copy::End& end, const Copy& what) {
  return what.height == 1 ? what.width : end.pitch * (what.height - 1) + what.width;
}

// Also finds out what is there; fails if it is not what the caller says.
Memory memory_at(const Copy::End& end, const Copy& what) {
  require_value(end.address != 0);
  require_value(what.height == 1 || end.pitch >= what.width);
  const Block* block = Driver::get().heap.find(end.address);
  if (block == nullptr) {
    require_value(end.side != Copy::Side::device);
    return Memory::pageable;
  }
  require_value(block->kind != MemoryKind::reserved &&
                block->contains(end.address, extent(end, what)));
  return block->kind == MemoryKind::device ? Memory::device : Memory::pinned;
}

// A row as bytes of this process. What was device memory when the copy was made must still be.
std::byte* row(const Copy::End& end, Memory memory, std::size_t index, std::size_t width) {
  const CUdeviceptr address = end.address + index * end.pitch;
  if (memory != Memory::device) return reinterpret_cast<std::byte*>(address);
  auto* bytes = static_cast<std::byte*>(Driver::get().heap.memory().host(address, width));
  require(bytes != nullptr, CUDA_ERROR_ILLEGAL_ADDRESS);
  return bytes;
}

// Bytes that were never written stay unwritten where they are copied to.
void copy_marks(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  constexpr std::size_t stretch = 4096;
  GlobalMemory& memory = Driver::get().heap.memory();
  const auto source = memory.find(from), target = memory.find(to);
  const auto mark = [&](std::size_t begin, std::size_t size) {
    const bool is_written = source->is_initialised(from + begin, size);
    if (is_written) target->mark_initialised(to + begin, size);
    return is_written;
  };
  for (std::size_t begin = 0; begin < bytes; begin += stretch) {
    const std::size_t end = std::min(begin + stretch, bytes);
    if (mark(begin, end - begin)) continue;
    for (std::size_t i = begin; i < end; ++i) mark(i, 1);
  }
}

void move_bytes(const Copy& what, Memory to, Memory from) {
  for (std::size_t i = 0; i < what.height; ++i) {
    std::byte* target = row(what.to, to, i, what.width);
    const std::byte* source = row(what.from, from, i, what.width);
    std::memmove(target, source, what.width);
    if (to != Memory::device) continue;
    const CUdeviceptr address = what.to.address + i * what.to.pitch;
    if (from == Memory::device)
      copy_marks(address, what.from.address + i * what.from.pitch, what.width);
    else
      Driver::get().heap.memory().mark_initialised(address, what.width);
  }
}

// The source as it is now, for a copy that happens later.
Work from_staging(const Copy& what, Memory to) {
  auto staged = std::make_shared<std::vector<std::byte>>(what.width * what.height);
  for (std::size_t i = 0; i < what.height; ++i)
    std::memcpy(staged->data() + i * what.width, row(what.from, Memory::pageable, i, what.width),
                what.width);
  Copy later = what;
  later.from = {Copy::Side::host, reinterpret_cast<CUdeviceptr>(staged->data()), what.width};
  return [later, to, staged] { move_bytes(later, to, Memory::pageable); };
}

}  // namespace

void copy(const Copy& what, Stream& stream, bool is_asynchronous) {
  if (what.width == 0 || what.height == 0) return;
  const Memory to = memory_at(what.to, what), from = memory_at(what.from, what);
  Work work = [what, to, from] { move_bytes(what, to, from); };
  if (stream.capture != nullptr) {
    enqueue(stream, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work));
    return;
  }
  const bool is_staged = from == Memory::pageable && to == Memory::device;
  if (is_staged) {
    if (!is_asynchronous) synchronize(stream);
    work = from_staging(what, to);
  }
  enqueue(stream, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work));
  // Between two device addresses nobody waits; to pageable memory everybody does.
  const bool stays_on_device = to == Memory::device && from == Memory::device;
  const bool is_complete_on_return =
      is_asynchronous ? to == Memory::pageable : !is_staged && !stays_on_device;
  if (is_complete_on_return) synchronize(stream);
}

void fill(const Fill& what, Stream& stream) {
  const std::size_t bytes = what.element_bytes * what.count;
  if (bytes == 0) return;
  require_value(what.address % what.element_bytes == 0);
  const Copy::End end{Copy::Side::device, what.address};
  const Memory memory = memory_at(end, {.to = end, .from = end, .width = bytes});
  enqueue(stream, CU_GRAPH_NODE_TYPE_MEMSET, [what, end, memory, bytes] {
    std::byte* target = row(end, memory, 0, bytes);
    std::memcpy(target, &what.value, what.element_bytes);
    for (std::size_t done = what.element_bytes; done < bytes; done *= 2)
      std::memcpy(target + done, target, std::min(done, bytes - done));
    if (memory == Memory::device) Driver::get().heap.memory().mark_initialised(what.address, bytes);
  });
}

}  // namespace bwgemm::vgpu::driver
