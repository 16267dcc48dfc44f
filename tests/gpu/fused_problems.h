// SPDX-License-Identifier: Apache-2.0
// What each row of the kernel table is asked to fuse, so that every instruction of its fused
// epilogue runs: each operation and type of operand, in as few and as small problems as possible.
// What results they give is asked in more ways by matmul_test.cpp, of fewer rows.
#pragma once

#include <vector>

#include "gpu/row_problems.h"

namespace bwgemm::test {

std::vector<RowProblem> fused_problems(const KernelConfig& row);

bool can_gate(const KernelConfig& row);

}  // namespace bwgemm::test
