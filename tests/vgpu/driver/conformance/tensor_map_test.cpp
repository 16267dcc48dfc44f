// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncodeTiled: a legal map, and every rule broken once.
#include <functional>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

struct Map {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  cuuint32_t rank = 3;
  std::uint64_t address = 0x7f0000000000;
  cuuint64_t dims[6] = {512, 256, 4, 2, 2, 2};
  cuuint64_t strides[5] = {1024, 262144, 1048576, 2097152, 4194304};
  cuuint32_t box[6] = {64, 64, 1, 1, 1, 1};
  cuuint32_t element_strides[6] = {1, 1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

class TensorMaps : public DriverTest {
 protected:
  CUresult encode(const std::function<void(Map&)>& change) {
    Map map;
    change(map);
    return CU(cuTensorMapEncodeTiled)(
        &encoded_, map.type, map.rank, reinterpret_cast<void*>(map.address), map.dims, map.strides,
        map.box, map.element_strides, map.interleave, map.swizzle, map.promotion, map.fill);
  }
  void expect_legal(const char* what, const std::function<void(Map&)>& change) {
    EXPECT_OK(encode(change)) << what;
  }
  void expect_refused(const char* what, const std::function<void(Map&)>& change) {
    EXPECT_INVALID_VALUE(encode(change)) << what;
  }

  CUtensorMap encoded_{};
};

TEST_F(TensorMaps, Legal) {
  expect_legal("as it is", [](Map&) {});
  for (const cuuint32_t rank : {1u, 2u, 4u, 5u})
    expect_legal("rank", [=](Map& map) { map.rank = rank; });
  expect_legal("the largest extent", [](Map& map) { map.dims[1] = 1ull << 32; });
  expect_legal("the largest stride", [](Map& map) { map.strides[1] = (1ull << 40) - 16; });
  expect_legal("a stride less than a row", [](Map& map) { map.strides[0] = 16; });
  expect_legal("strides that do not nest", [](Map& map) { map.strides[1] = 262144 + 16; });
  expect_legal("the tallest box", [](Map& map) { map.box[1] = 256; });
  expect_legal("all of shared memory", [](Map& map) { map.box[1] = 228, map.box[2] = 8; });
  expect_legal("a narrow box", [](Map& map) { map.box[0] = 8; });
  expect_legal("no swizzle, a wide row", [](Map& map) {
    map.box[0] = 256;
    map.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  });
  expect_legal("64-byte swizzle", [](Map& map) {
    map.box[0] = 32;
    map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  });
  expect_legal("element stride", [](Map& map) { map.element_strides[1] = 8; });
  expect_legal("bytes", [](Map& map) {
    map.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    map.box[0] = 128;
  });
  expect_legal("NaN fill",
               [](Map& map) { map.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; });
  expect_legal("address 0", [](Map& map) { map.address = 0; });
}

TEST_F(TensorMaps, RankAndMemory) {
  for (const cuuint32_t rank : {0u, 6u}) expect_refused("rank", [=](Map& map) { map.rank = rank; });
  expect_refused("address alignment", [](Map& map) { map.address += 8; });
  expect_refused("an extent of 0", [](Map& map) { map.dims[0] = 0; });
  expect_refused("an extent of 0", [](Map& map) { map.dims[2] = 0; });
  expect_refused("an extent above 2^32", [](Map& map) { map.dims[0] = (1ull << 32) + 1; });
  expect_refused("stride alignment", [](Map& map) { map.strides[0] = 1016; });
  expect_refused("a stride of 2^40", [](Map& map) { map.strides[1] = 1ull << 40; });
}

TEST_F(TensorMaps, Box) {
  expect_refused("a side of 0", [](Map& map) { map.box[1] = 0; });
  expect_refused("a side of 257", [](Map& map) { map.box[1] = 257; });
  expect_refused("a row of 8 bytes", [](Map& map) { map.box[0] = 4; });
  expect_refused("a row of 130 bytes", [](Map& map) { map.box[0] = 65; });
  expect_refused("a row longer than the swizzle", [](Map& map) { map.box[0] = 72; });
  expect_refused("a row longer than 64 bytes", [](Map& map) {
    map.box[0] = 40;
    map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  });
  expect_refused("a row longer than 32 bytes", [](Map& map) {
    map.box[0] = 24;
    map.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  });
  expect_refused("more than shared memory", [](Map& map) { map.box[1] = 232, map.box[2] = 8; });
  expect_refused("an element stride of 0", [](Map& map) { map.element_strides[1] = 0; });
  expect_refused("an element stride of 9", [](Map& map) { map.element_strides[1] = 9; });
  expect_refused("in the inner dimension too", [](Map& map) { map.element_strides[0] = 9; });
}

TEST_F(TensorMaps, Enumerators) {
  expect_refused("type", [](Map& map) { map.type = static_cast<CUtensorMapDataType>(99); });
  expect_refused("interleave",
                 [](Map& map) { map.interleave = static_cast<CUtensorMapInterleave>(3); });
  expect_refused("swizzle", [](Map& map) { map.swizzle = static_cast<CUtensorMapSwizzle>(7); });
  expect_refused("promotion",
                 [](Map& map) { map.promotion = static_cast<CUtensorMapL2promotion>(4); });
  expect_refused("fill", [](Map& map) { map.fill = static_cast<CUtensorMapFloatOOBfill>(2); });
  expect_refused("NaN of integers", [](Map& map) {
    map.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    map.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  });
  expect_refused("interleave of two dimensions", [](Map& map) {
    map.rank = 2;
    map.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  });
}

TEST_F(TensorMaps, MissingArguments) {
  Map map;
  const auto encode_to = [&](CUtensorMap* to, const cuuint64_t* dims, const cuuint64_t* strides,
                             const cuuint32_t* box, const cuuint32_t* element_strides) {
    return CU(cuTensorMapEncodeTiled)(to, map.type, map.rank, reinterpret_cast<void*>(map.address),
                                      dims, strides, box, element_strides, map.interleave,
                                      map.swizzle, map.promotion, map.fill);
  };
  EXPECT_INVALID_VALUE(encode_to(nullptr, map.dims, map.strides, map.box, map.element_strides));
  EXPECT_INVALID_VALUE(encode_to(&encoded_, nullptr, map.strides, map.box, map.element_strides));
  EXPECT_INVALID_VALUE(encode_to(&encoded_, map.dims, nullptr, map.box, map.element_strides));
  EXPECT_INVALID_VALUE(encode_to(&encoded_, map.dims, map.strides, nullptr, map.element_strides));
  EXPECT_INVALID_VALUE(encode_to(&encoded_, map.dims, map.strides, map.box, nullptr));
}

TEST_F(TensorMaps, TheAddressCanBeReplaced) {
  expect_legal("as it is", [](Map&) {});
  EXPECT_OK(CU(cuTensorMapReplaceAddress)(&encoded_, reinterpret_cast<void*>(0x7f0000000010)));
  EXPECT_INVALID_VALUE(
      CU(cuTensorMapReplaceAddress)(&encoded_, reinterpret_cast<void*>(0x7f0000000008)));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
