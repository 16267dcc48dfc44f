// SPDX-License-Identifier: Apache-2.0
// Outputs that consumers or the output role store, for rows that can: whole rows of D as pieces of
// memory, and what TMA cannot store, line by line. Lines start at odd and even elements in turn,
// all alike, or where TMA wants them, and end anywhere.
#pragma once

#include <vector>

#include "gpu/row_problems.h"

namespace bwgemm::test {

// Of rows that cannot: nothing.
std::vector<RowProblem> line_problems(const KernelConfig& row);

}  // namespace bwgemm::test
