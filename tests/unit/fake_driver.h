// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuTensorMapEncodeTiled that writes its arguments into the map, so that tests can
// read them back, counts its calls, and fails on demand.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <cuda.h>
#include <thread>

#include "program/tensor_map.h"

namespace bwgemm::test {

// What the fake writes: 128 bytes, like the driver's opaque map.
struct FakeMap {
  std::uint64_t address;
  std::uint64_t dims[3], more_dims[2];  // of most maps there are three
  std::uint64_t strides[2], more_strides[2];
  std::uint32_t box[3], more_box[2];
  std::uint32_t element_stride;  // of the first dimension
  std::uint32_t type, rank, interleave, swizzle, promotion, oob_fill;

  bool operator==(const FakeMap&) const = default;
};
static_assert(sizeof(FakeMap) == sizeof(TensorMap));

inline std::atomic<int> encode_calls{0};
inline std::atomic<CUresult> encode_result{CUDA_SUCCESS};
inline std::atomic<int> encodes_before_result{0};  // that still succeed
inline std::chrono::milliseconds encode_takes{0};

inline CUresult CUDAAPI fake_encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                    void* address, const cuuint64_t* dims,
                                    const cuuint64_t* strides, const cuuint32_t* box,
                                    const cuuint32_t* element_strides,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion promotion,
                                    CUtensorMapFloatOOBfill oob_fill) {
  ++encode_calls;
  if (encode_takes.count() > 0) std::this_thread::sleep_for(encode_takes);
  if (encode_result != CUDA_SUCCESS && encodes_before_result-- <= 0) return encode_result;
  FakeMap fake{};
  fake.address = reinterpret_cast<std::uintptr_t>(address);
  std::copy_n(dims, 3, fake.dims);
  std::copy_n(strides, 2, fake.strides);
  std::copy_n(box, 3, fake.box);
  if (rank > 3) {
    std::copy_n(dims + 3, rank - 3, fake.more_dims);
    std::copy_n(strides + 2, rank - 3, fake.more_strides);
    std::copy_n(box + 3, rank - 3, fake.more_box);
  }
  fake.element_stride = element_strides[0];
  fake.type = type;
  fake.rank = rank;
  fake.interleave = interleave;
  fake.swizzle = swizzle;
  fake.promotion = promotion;
  fake.oob_fill = oob_fill;
  std::memcpy(map, &fake, sizeof fake);
  return CUDA_SUCCESS;
}

inline FakeMap fake_map(const TensorMap& map) {
  FakeMap fake;
  std::memcpy(&fake, &map, sizeof fake);
  return fake;
}

}  // namespace bwgemm::test
