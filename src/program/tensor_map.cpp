// SPDX-License-Identifier: Apache-2.0
// Building, hashing and encoding of tensor-map keys. The cache is a set-associative table with one
// mutex per set.
#include "program/tensor_map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"

namespace bwgemm {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));

CUtensorMapDataType map_type(Dtype type) {
  switch (type) {
    case Dtype::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Dtype::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Dtype::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Dtype::e4m3:
    case Dtype::e5m2: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

// A map of one batch never uses this stride, but the driver wants a legal one: the whole matrix.
std::uint64_t unused_batch_stride(std::uint64_t outer_stride_bytes, std::uint64_t outer) {
  constexpr std::uint64_t largest = (std::uint64_t{1} << 40) - 16;
  return outer <= largest / outer_stride_bytes ? outer_stride_bytes * outer : largest;
}

CUtensorMapSwizzle swizzle_of(std::uint64_t row_bytes) {
  switch (row_bytes) {
    case 128: return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case 32: return CU_TENSOR_MAP_SWIZZLE_32B;
    default: return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

std::string described(const TensorMapKey& key) {
  const auto list = [](const auto* numbers, std::uint32_t count) {
    std::string joined;
    for (std::uint32_t i = 0; i < count; ++i) joined += text(i == 0 ? "" : " x ", numbers[i]);
    return joined;
  };
  return text("type ", key.type, ", rank ", key.rank, ", address ", key.address, ", dims ",
              list(key.dims, key.rank), ", strides ", list(key.strides, key.rank - 1), ", box ",
              list(key.box, key.rank), ", element stride ", key.element_stride, ", interleave ",
              key.interleave, ", swizzle ", key.swizzle, ", promotion ", key.promotion,
              ", oob fill ", key.oob_fill);
}

}  // namespace

TensorMapKey tensor_map_key(const Matrix& matrix, const MapExtent& extent, const MapBox& box,
                            int rank, Promotion promotion) {
  const auto element_bytes = static_cast<std::uint64_t>(size_bytes(matrix.type));
  const bool repeats = extent.batch == 1 || matrix.batch_stride == 0;
  TensorMapKey key{};
  key.address = reinterpret_cast<std::uintptr_t>(matrix.data);
  key.dims[0] = static_cast<std::uint64_t>(extent.inner);
  key.dims[1] = static_cast<std::uint64_t>(extent.outer);
  key.dims[2] = repeats ? 1 : static_cast<std::uint64_t>(extent.batch);
  key.strides[0] = static_cast<std::uint64_t>(matrix.ld) * element_bytes;
  key.strides[1] = repeats ? unused_batch_stride(key.strides[0], key.dims[1])
                           : static_cast<std::uint64_t>(matrix.batch_stride) * element_bytes;
  key.box[0] = static_cast<std::uint32_t>(box.inner);
  key.box[1] = static_cast<std::uint32_t>(box.outer);
  key.box[2] = 1;
  key.element_stride = 1;
  key.type = map_type(matrix.type);
  key.rank = static_cast<std::uint32_t>(rank);
  key.interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  key.swizzle = swizzle_of(key.box[0] * element_bytes);
  key.promotion = promotion == Promotion::none ? CU_TENSOR_MAP_L2_PROMOTION_NONE
                                               : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  key.oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  return key;
}

// The address was just written: a wider load would have to wait for that store.
std::uint64_t hash(const TensorMapKey& key) {
  static_assert(offsetof(TensorMapKey, address) == 0);
  std::array<std::uint64_t, sizeof key / sizeof(std::uint64_t)> words;
  words[0] = key.address;
  std::memcpy(&words[1], reinterpret_cast<const std::byte*>(&key) + sizeof key.address,
              sizeof key - sizeof key.address);
  return hash_of(words);
}

TensorMap encoded(EncodeTiled encode, const TensorMapKey& key) {
  CUtensorMap map{};
  std::array<std::uint32_t, max_tensor_map_rank> element_strides;
  element_strides.fill(key.element_stride);
  const CUresult result = encode(&map, static_cast<CUtensorMapDataType>(key.type), key.rank,
                                 reinterpret_cast<void*>(static_cast<std::uintptr_t>(key.address)),
                                 key.dims, key.strides, key.box, element_strides.data(),
                                 static_cast<CUtensorMapInterleave>(key.interleave),
                                 static_cast<CUtensorMapSwizzle>(key.swizzle),
                                 static_cast<CUtensorMapL2promotion>(key.promotion),
                                 static_cast<CUtensorMapFloatOOBfill>(key.oob_fill));
  // The encoder touches no device; what is not about its arguments is an earlier failure of the
  // context.
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
    throw Error(BWGEMM_STATUS_EXECUTION_FAILED,
                text("cuTensorMapEncodeTiled: CUDA_ERROR_ number ", static_cast<int>(result),
                     ", which an earlier launch of this context left"));
  if (result != CUDA_SUCCESS)
    throw Error(BWGEMM_STATUS_INTERNAL_ERROR,
                text("cuTensorMapEncodeTiled returned ", static_cast<int>(result), " for ",
                     described(key)));
  TensorMap copy;
  std::memcpy(&copy, &map, sizeof copy);
  return copy;
}

TensorMapCache::TensorMapCache(EncodeTiled encode, std::size_t capacity)
    : encode_(encode),
      ways_(std::clamp<std::size_t>(capacity, 1, max_ways)),
      set_count_(std::bit_floor(std::max<std::size_t>(capacity, 1) / ways_)),
      sets_(std::make_unique<Set[]>(set_count_)) {}

TensorMap TensorMapCache::get(const TensorMapKey& key) {
  const std::uint64_t hashed = hash(key);
  Set& set = sets_[hashed & (set_count_ - 1)];
  const std::lock_guard lock(set.mutex);
  const std::uint64_t now = ++set.clock;
  for (std::size_t way = 0; way < ways_; ++way) {
    if (set.hashes[way] != hashed || set.last_use[way] == 0 || set.keys[way] != key) continue;
    set.last_use[way] = now;
    ++set.counters.hits;
    return set.maps[way];
  }
  ++set.counters.misses;
  const TensorMap map = encoded(encode_, key);
  const std::size_t way = victim(set);
  if (set.last_use[way] != 0) ++set.counters.evictions;
  set.last_use[way] = now;
  set.hashes[way] = hashed;
  set.keys[way] = key;
  set.maps[way] = map;
  return map;
}

std::size_t TensorMapCache::victim(const Set& set) const {
  const auto begin = set.last_use.begin();
  return static_cast<std::size_t>(
      std::min_element(begin, begin + static_cast<std::ptrdiff_t>(ways_)) - begin);
}

TensorMapCache::Counters TensorMapCache::counters() const {
  Counters sum{};
  for (std::size_t i = 0; i < set_count_; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sum.hits += sets_[i].counters.hits;
    sum.misses += sets_[i].counters.misses;
    sum.evictions += sets_[i].counters.evictions;
  }
  return sum;
}

}  // namespace bwgemm
