// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/tensor_map_check.h"

#include <cstdint>
#include <span>

#include "vgpu/driver/device.h"

namespace bwgemm::vgpu::driver {
namespace {

constexpr std::uint64_t largest_extent = std::uint64_t{1} << 32;
constexpr std::uint64_t stride_limit = std::uint64_t{1} << 40;
// Not documented; an H200's driver refuses boxes larger than the shared memory of an SM.
constexpr std::uint64_t largest_box_bytes = limits::shared_per_sm;
constexpr std::uint64_t address_limit = std::uint64_t{1} << 57;

bool is_packed(CUtensorMapDataType type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
}

bool is_float(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return true;
    default: return false;
  }
}

std::uint64_t element_bytes(const TensorMapArguments& map) {
  return size_bytes(static_cast<TensorElement>(map.type));
}

std::uint64_t swizzle_bytes(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE: return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B: return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return 64;
    default: return 128;
  }
}

const char* broken_enumerator(const TensorMapArguments& map) {
  if (map.type < 0 || map.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B) return "the data type";
  if (map.interleave < 0 || map.interleave > CU_TENSOR_MAP_INTERLEAVE_32B) return "the interleave";
  if (map.swizzle < 0 || map.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B) return "the swizzle";
  if (map.promotion < 0 || map.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return "the L2 promotion";
  if (map.oob_fill < 0 || map.oob_fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return "the out-of-bounds fill";
  if (map.oob_fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(map.type))
    return "out-of-bounds NaN is for floating-point types";
  return nullptr;
}

const char* broken_in_memory(const TensorMapArguments& map) {
  const std::uint64_t unit = map.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  const auto address = reinterpret_cast<std::uintptr_t>(map.address);
  if (address % unit != 0) return "the address is not aligned";
  if (address >= address_limit) return "the address is none";
  for (const std::uint64_t extent : std::span(map.dims, map.rank))
    if (extent == 0 || extent > largest_extent) return "a dimension is not in 1 .. 2^32";
  for (const std::uint64_t stride : std::span(map.strides, map.rank - 1))
    if (stride % unit != 0 || stride >= stride_limit)
      return "a stride is not aligned, or not below 2^40";
  return nullptr;
}

const char* broken_in_box(const TensorMapArguments& map) {
  std::uint64_t bytes = element_bytes(map);
  for (const std::uint32_t extent : std::span(map.box, map.rank)) {
    if (extent == 0 || extent > 256) return "a side of the box is not in 1 .. 256";
    bytes *= extent;
  }
  if (bytes > largest_box_bytes) return "the box is larger than shared memory";
  for (const std::uint32_t stride : std::span(map.element_strides, map.rank))
    if (stride == 0 || stride > 8) return "an element stride is not in 1 .. 8";
  const std::uint64_t row = map.box[0] * element_bytes(map);
  if (map.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    if (row % 16 != 0) return "a row of the box is not a multiple of 16 bytes";
    if (map.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && row > swizzle_bytes(map.swizzle))
      return "a row of the box is longer than the swizzle";
  } else if (map.rank < 3) {
    return "interleaved maps have three dimensions or more";
  }
  if (map.interleave == CU_TENSOR_MAP_INTERLEAVE_32B && map.swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return "32-byte interleave goes with the 32-byte swizzle";
  return nullptr;
}

}  // namespace

const char* broken_rule(const TensorMapArguments& map) {
  if (const char* broken = broken_enumerator(map)) return broken;
  if (map.rank == 0 || map.rank > TensorMapFields::max_rank) return "the rank is not in 1 .. 5";
  if (map.dims == nullptr || map.strides == nullptr || map.box == nullptr ||
      map.element_strides == nullptr)
    return "an array is missing";
  if (is_packed(map.type)) return nullptr;  // its own rules; the machine has no such maps
  if (const char* broken = broken_in_memory(map)) return broken;
  return broken_in_box(map);
}

std::optional<TensorMapFields> fields_of(const TensorMapArguments& map) {
  if (is_packed(map.type) || map.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      map.swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return std::nullopt;
  TensorMapFields fields{};
  fields.address = reinterpret_cast<std::uintptr_t>(map.address);
  fields.extent.fill(1);
  fields.box.fill(1);
  fields.element_stride.fill(1);
  for (std::size_t i = 0; i < fields.extent.size() && i < map.rank; ++i) {
    fields.extent[i] = map.dims[i];
    fields.box[i] = map.box[i];
    fields.element_stride[i] = map.element_strides[i];
    if (i < fields.stride.size() && i + 1 < map.rank) fields.stride[i] = map.strides[i];
  }
  fields.rank = map.rank;
  fields.element = static_cast<TensorElement>(map.type);
  fields.swizzle = static_cast<Swizzle>(map.swizzle);
  fields.fill_nan = map.oob_fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  return fields;
}

}  // namespace bwgemm::vgpu::driver
