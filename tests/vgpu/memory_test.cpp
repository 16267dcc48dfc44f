// SPDX-License-Identifier: Apache-2.0
// GlobalMemory and tensor maps.
#include "vgpu/memory.h"

#include <gtest/gtest.h>

#include "vgpu/tensor_map.h"

namespace bwgemm::vgpu {
namespace {

TEST(GlobalMemory, AllocationsAreApartAndNeverReused) {
  GlobalMemory memory;
  const std::uint64_t first = memory.allocate(100), second = memory.allocate(100, 4096);
  EXPECT_GE(second, first + 100 + 4096);
  EXPECT_EQ(second % 4096, 0u);
  EXPECT_NE(memory.host(first, 100), nullptr);
  EXPECT_EQ(memory.host(first, 101), nullptr);
  EXPECT_EQ(memory.host(first - 1, 1), nullptr);
  EXPECT_EQ(memory.host(first + 100, 1), nullptr);
  EXPECT_EQ(memory.bytes_in_use(), 200u);
  EXPECT_TRUE(memory.free(first));
  EXPECT_FALSE(memory.free(first));
  EXPECT_EQ(memory.host(first, 1), nullptr);
  EXPECT_GT(memory.allocate(100), second);
}

TEST(GlobalMemory, KnowsWhatWasWritten) {
  GlobalMemory memory;
  const std::uint64_t address = memory.allocate(1000);
  EXPECT_FALSE(memory.is_initialised(address, 1));
  memory.mark_initialised(address + 3, 200);
  EXPECT_TRUE(memory.is_initialised(address + 3, 200));
  EXPECT_FALSE(memory.is_initialised(address + 2, 2));
  EXPECT_FALSE(memory.is_initialised(address + 200, 4));
  int pinned = 1;
  memory.register_host(&pinned, sizeof pinned);
  EXPECT_TRUE(memory.is_initialised(reinterpret_cast<std::uint64_t>(&pinned), 4));
  EXPECT_EQ(memory.host(reinterpret_cast<std::uint64_t>(&pinned), 4), &pinned);
}

TEST(TensorMap, SurvivesTheRoundTripAndNothingElseDoes) {
  TensorMapFields fields{};
  fields.address = 0x7000'0000'1000;
  fields.rank = 3;
  fields.extent = {std::uint64_t{1} << 32, 7, 1, 1, 1};
  fields.stride = {128, 4096, 0, 0};
  fields.box = {64, 256, 1, 1, 1};
  fields.element_stride.fill(1);
  fields.element = TensorElement::bf16;
  fields.swizzle = Swizzle::bytes128;
  TensorMapBytes bytes = encode(fields);
  ASSERT_TRUE(decode(bytes).has_value());
  EXPECT_EQ(*decode(bytes), fields);
  bytes[20] ^= std::byte{1};
  EXPECT_FALSE(decode(bytes).has_value());
  EXPECT_FALSE(decode(TensorMapBytes{}).has_value());
}

}  // namespace
}  // namespace bwgemm::vgpu
