// SPDX-License-Identifier: Apache-2.0
// A product for each way in which operands are read and sums are added, with results that are
// exact.
#pragma once

#include "support/gemm_case.h"

namespace bwgemm::test {

inline const GemmCase exact_cases[] = {
    {.m = 136, .n = 72, .k = 200, .ld_multiple = 8, .fill = Fill::integers},       // TMA
    {.m = 61, .n = 35, .k = 77, .output = Dtype::f32, .fill = Fill::integers},     // direct
    {.m = 40, .n = 40, .k = 4101, .output = Dtype::f32, .fill = Fill::integers}};  // split

}  // namespace bwgemm::test
