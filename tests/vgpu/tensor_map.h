// SPDX-License-Identifier: Apache-2.0
// The tensor map of the virtual GPU: what a TMA instruction needs to know, packed into the 128
// opaque bytes that kernels carry around. Checking the arguments of cuTensorMapEncodeTiled is the
// driver's business; the machine only insists that a map was made here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace bwgemm::vgpu {

// Values are those of CUtensorMapDataType.
enum class TensorElement : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz
};
constexpr int tensor_elements = 13;

constexpr std::uint32_t size_bytes(TensorElement element) {
  constexpr std::uint8_t sizes[tensor_elements] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return sizes[static_cast<int>(element)];
}

// Values are those of CUtensorMapSwizzle.
enum class Swizzle : std::uint8_t { none, bytes32, bytes64, bytes128 };

struct TensorMapFields {
  static constexpr int max_rank = 5;

  std::uint64_t address;                               // of the element at the origin
  std::array<std::uint64_t, max_rank> extent;          // elements, 1 .. 2^32; innermost first
  std::array<std::uint64_t, max_rank - 1> stride;      // bytes, of dimensions 1 ..
  std::array<std::uint32_t, max_rank> box;             // elements, 1 .. 256
  std::array<std::uint32_t, max_rank> element_stride;  // 1 .. 8
  std::uint32_t rank;
  TensorElement element;
  Swizzle swizzle;
  bool fill_nan;  // what out-of-range elements read as; else zero

  bool operator==(const TensorMapFields&) const = default;
};

using TensorMapBytes = std::array<std::byte, 128>;

TensorMapBytes encode(const TensorMapFields& fields);
// Nothing, if the bytes are no map of ours or were damaged.
std::optional<TensorMapFields> decode(const TensorMapBytes& bytes);

}  // namespace bwgemm::vgpu
