// SPDX-License-Identifier: Apache-2.0
// algos_of: all that bwgemmMatmulGetAlgos lists for a call.
#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "support/matmul_call.h"

namespace bwgemm::test {

inline std::vector<bwgemmMatmulAlgo_t> algos_of(bwgemmHandle_t handle, const MatmulCall& call) {
  std::size_t count = 0;
  EXPECT_EQ(bwgemmMatmulGetAlgos(handle, &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                                 call.d, nullptr, 0, &count),
            BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  std::vector<bwgemmMatmulAlgo_t> algos(count);
  if (count == 0) return algos;
  algos[0].structSize = sizeof(bwgemmMatmulAlgo_t);
  EXPECT_EQ(bwgemmMatmulGetAlgos(handle, &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                                 call.d, algos.data(), count, &count),
            BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(count, algos.size());
  return algos;
}

}  // namespace bwgemm::test
