// SPDX-License-Identifier: Apache-2.0
// Tensor-map keys: every input is in the key and reaches the driver; refusals say all inputs.
#include "program/tensor_map.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "core/error.h"
#include "fake_driver.h"
#include "problems.h"

namespace bwgemm {
namespace {

using ::testing::HasSubstr;

struct Inputs {
  Matrix matrix{test::address(0x1000), Dtype::bf16, Order::row, 512, 512 * 256};
  MapExtent extent{500, 256, 4};
  MapBox box{64, 128};

  TensorMapKey key() const { return tensor_map_key(matrix, extent, box); }
};

TEST(TensorMapKey, EveryInputChangesIt) {
  const Inputs base;
  std::vector<TensorMapKey> keys{base.key()};
  const auto add = [&](auto change) {
    Inputs inputs;
    change(inputs);
    keys.push_back(inputs.key());
  };
  add([](Inputs& inputs) { inputs.matrix.data = test::address(0x1010); });
  add([](Inputs& inputs) { inputs.matrix.type = Dtype::f16; });
  add([](Inputs& inputs) { inputs.matrix.ld = 520; });
  add([](Inputs& inputs) { inputs.matrix.batch_stride += 8; });
  add([](Inputs& inputs) { inputs.matrix.batch_stride = 0; });
  add([](Inputs& inputs) { inputs.extent.inner = 501; });
  add([](Inputs& inputs) { inputs.extent.outer = 255; });
  add([](Inputs& inputs) { inputs.extent.batch = 3; });
  add([](Inputs& inputs) { inputs.box.inner = 32; });
  add([](Inputs& inputs) { inputs.box.outer = 64; });
  std::set<std::uint64_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes.insert(hash(keys[i]));
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " " << j;
  }
  EXPECT_EQ(hashes.size(), keys.size());
}

TEST(TensorMapKey, EveryByteIsHashed) {
  const TensorMapKey base = Inputs{}.key();
  for (std::size_t byte = 0; byte < sizeof base; ++byte) {
    TensorMapKey changed = base;
    reinterpret_cast<unsigned char*>(&changed)[byte] ^= 1;
    EXPECT_NE(changed, base) << byte;
    EXPECT_NE(hash(changed), hash(base)) << byte;
  }
}

TEST(TensorMapKey, UnusedBatchStrideDoesNotMatter) {
  Inputs one, other;
  one.extent.batch = other.extent.batch = 1;
  other.matrix.batch_stride = 12345;
  EXPECT_EQ(one.key(), other.key());
  // The driver wants a legal stride all the same, however large the matrix.
  EXPECT_EQ(one.key().strides[1], 512u * 2 * 256);
  one.matrix.ld = std::int64_t{1} << 38;
  EXPECT_EQ(one.key().strides[1], (std::uint64_t{1} << 40) - 16);
}

TEST(TensorMapKey, SwizzleIsAsWideAsTheBox) {
  Inputs inputs;
  EXPECT_EQ(inputs.key().swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_128B));
  inputs.box.inner = 32;
  EXPECT_EQ(inputs.key().swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_64B));
  inputs.matrix.type = Dtype::f32;
  EXPECT_EQ(inputs.key().swizzle, static_cast<std::uint32_t>(CU_TENSOR_MAP_SWIZZLE_128B));
}

TEST(TensorMap, EncodesTheWholeKey) {
  const TensorMapKey key = Inputs{}.key();
  const TensorMap map = encoded(test::fake_encode, key);
  // The fake writes its arguments in the order of the key.
  EXPECT_EQ(std::memcmp(&map, &key, sizeof key), 0);
  EXPECT_EQ(key.rank, 3u);
  EXPECT_EQ(key.promotion, static_cast<std::uint32_t>(CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
  EXPECT_EQ(key.interleave, static_cast<std::uint32_t>(CU_TENSOR_MAP_INTERLEAVE_NONE));
  EXPECT_EQ(key.oob_fill, static_cast<std::uint32_t>(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

TEST(TensorMap, RefusalNamesEveryInput) {
  test::encode_result = CUDA_ERROR_INVALID_VALUE;
  try {
    encoded(test::fake_encode, Inputs{}.key());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), BWGEMM_STATUS_INTERNAL_ERROR);
    EXPECT_THAT(error.what(), HasSubstr("cuTensorMapEncodeTiled returned 1"));
    EXPECT_THAT(error.what(), HasSubstr("address 4096, dims 500 x 256 x 4, strides 1024 x 262144, "
                                        "box 64 x 128 x 1, element stride 1"));
  }
  test::encode_result = CUDA_SUCCESS;
}

}  // namespace
}  // namespace bwgemm
