// SPDX-License-Identifier: Apache-2.0
#include "vgpu/tensor_map.h"

#include <cstring>

namespace bwgemm::vgpu {
namespace {

constexpr std::uint64_t magic = 0x70616d'76677075ull;

// The image of a map. Extents are stored less one, because 2^32 is one of them.
struct Packed {
  std::uint64_t magic, address, stride[4];
  std::uint32_t last_index[5];
  std::uint16_t last_box_index[5];
  std::uint8_t element_stride[5], rank, element, swizzle, fill_nan, unused[9];
  std::uint64_t checksum;
};
static_assert(sizeof(Packed) == 104);
static_assert(sizeof(Packed) <= sizeof(TensorMapBytes));

std::uint64_t checksum(Packed packed) {
  packed.checksum = 0;
  unsigned char bytes[sizeof packed];
  std::memcpy(bytes, &packed, sizeof packed);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
  return hash;
}

}  // namespace

TensorMapBytes encode(const TensorMapFields& fields) {
  Packed packed{};
  packed.magic = magic;
  packed.address = fields.address;
  for (int i = 0; i < TensorMapFields::max_rank; ++i) {
    packed.last_index[i] = static_cast<std::uint32_t>(fields.extent[i] - 1);
    packed.last_box_index[i] = static_cast<std::uint16_t>(fields.box[i] - 1);
    packed.element_stride[i] = static_cast<std::uint8_t>(fields.element_stride[i]);
    if (i > 0) packed.stride[i - 1] = fields.stride[i - 1];
  }
  packed.rank = static_cast<std::uint8_t>(fields.rank);
  packed.element = static_cast<std::uint8_t>(fields.element);
  packed.swizzle = static_cast<std::uint8_t>(fields.swizzle);
  packed.fill_nan = fields.fill_nan;
  packed.checksum = checksum(packed);
  TensorMapBytes bytes{};
  std::memcpy(bytes.data(), &packed, sizeof packed);
  return bytes;
}

std::optional<TensorMapFields> decode(const TensorMapBytes& bytes) {
  Packed packed;
  std::memcpy(&packed, bytes.data(), sizeof packed);
  if (packed.magic != magic || packed.checksum != checksum(packed)) return std::nullopt;
  TensorMapFields fields{};
  fields.address = packed.address;
  for (int i = 0; i < TensorMapFields::max_rank; ++i) {
    fields.extent[i] = std::uint64_t{packed.last_index[i]} + 1;
    fields.box[i] = packed.last_box_index[i] + 1u;
    fields.element_stride[i] = packed.element_stride[i];
    if (i > 0) fields.stride[i - 1] = packed.stride[i - 1];
  }
  fields.rank = packed.rank;
  fields.element = static_cast<TensorElement>(packed.element);
  fields.swizzle = static_cast<Swizzle>(packed.swizzle);
  fields.fill_nan = packed.fill_nan != 0;
  return fields;
}

}  // namespace bwgemm::vgpu
