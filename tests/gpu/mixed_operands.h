// SPDX-License-Identifier: Apache-2.0
// Products whose operands can be loaded in units of different widths: one begins anywhere, the
// other lies in units of 16 bytes, of 4, or begins anywhere, too. Rows end inside of units, with no
// memory behind the last one. So does k, in the first of two slabs of 32 or in the second, which
// have code each in the direct kernel, or it ends with a slab.
#pragma once

#include <cstdint>
#include <vector>

#include "support/gemm_case.h"

namespace bwgemm::test {

inline std::vector<GemmCase> mixed_operands() {
  std::vector<GemmCase> cases;
  for (const std::int64_t k : {61, 93, 64})
    for (const int unit : {8, 2, 1})
      for (const bwgemmOperation_t transa : {BWGEMM_OP_N, BWGEMM_OP_T})
        for (const bwgemmOperation_t transb : {BWGEMM_OP_N, BWGEMM_OP_T})
          for (const bool a_is_odd : {false, true}) {
            GemmCase& gemm = cases.emplace_back();
            gemm.transa = transa, gemm.transb = transb;
            gemm.m = gemm.n = 37, gemm.k = k;
            gemm.input = gemm.output = transb == BWGEMM_OP_N ? Dtype::bf16 : Dtype::f16;
            gemm.ld_multiple = 8;
            gemm.alpha = 0x1p-4f;
            gemm.fill = Fill::integers;
            gemm.seed = 300 + cases.size();
            gemm.nothing_behind = true;
            (a_is_odd ? gemm.a_displacement : gemm.b_displacement) = 1;
            (a_is_odd ? gemm.b_displacement : gemm.a_displacement) = unit % 8;
          }
  return cases;
}

}  // namespace bwgemm::test
