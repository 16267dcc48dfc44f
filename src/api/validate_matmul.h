// SPDX-License-Identifier: Apache-2.0
// What only bwgemmMatmul has, as it is judged in validated(): orders of matrices, a C apart from D,
// a fused epilogue, the sums beside a product, a workspace.
#pragma once

#include <cstdint>

#include "api/validate.h"

namespace bwgemm {

// The size of D along the dimension that is contiguous in memory, and the other.
struct OutputSize {
  std::int64_t rows, columns;
};

// Checks orders, batch mode and gate.
OutputSize checked_layout(const bwgemmMatmulDesc_t& desc);
// D may be C, but not be read and written in different forms.
void check_c_as_d(const Operand& c, const Operand& d, std::int64_t batch);
// The epilogue and the sums of a problem that has all else.
void take_fused(const bwgemmMatmulDesc_t& desc, Problem& problem);
// NOT_SUPPORTED for what is legal but served by no kernel.
void check_fused_supported(const bwgemmMatmulDesc_t& desc, const Problem& problem);

}  // namespace bwgemm
