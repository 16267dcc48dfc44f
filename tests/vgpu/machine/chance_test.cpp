// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/chance.h"

#include <gtest/gtest.h>
#include <random>

namespace bwgemm::vgpu {
namespace {

TEST(Chance, GivesTheNumbersOfTheStandardsEngine) {
  for (const std::uint32_t seed : {1u, 5489u, 0xffffffffu}) {
    Chance chance(seed);
    std::mt19937 standard(seed);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(chance(), standard()) << seed << ", " << i;
  }
}

}  // namespace
}  // namespace bwgemm::vgpu
