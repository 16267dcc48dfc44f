// SPDX-License-Identifier: Apache-2.0
// copied_call: the two launches of a call over the test double that copies operands in front of its
// product.
#pragma once

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "bwgemm/bwgemm.h"
#include "support/fake_cuda.h"

namespace bwgemm::test {

struct CopiedCall {
  FakeLaunch copy, product;

  // Where TMA finds the product's operands: of A and B first the one that lies lower.
  std::array<const void*, 2> loaded() const {
    const auto address = [](const TensorMap& map) {
      return reinterpret_cast<const void*>(map.opaque[0]);
    };
    const MappedParams& params = product.params;
    const void *const a = address(params.a_map), *const b = address(params.b_map);
    return {std::min(a, b), std::max(a, b)};
  }
};

// Forgets what the driver was asked before.
template <class Call>
CopiedCall copied_call(const Call& call) {
  fake_cuda().reset();
  EXPECT_EQ(call(), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().launches(), 2);
  if (fake_cuda().launches() != 2) return {};
  const CopiedCall launched{*fake_cuda().launch(0), *fake_cuda().launch(1)};
  EXPECT_TRUE(launched.copy.is_copy()) << launched.copy.kernel;
  EXPECT_FALSE(launched.product.is_copy()) << launched.product.kernel;
  return launched;
}

}  // namespace bwgemm::test
