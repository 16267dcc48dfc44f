// SPDX-License-Identifier: Apache-2.0
// validated_epilogue, validated_bias_gradient: what bwgemmMatmulDesc_t says is to be fused to a
// product -> Epilogue, and what is to be added up beside it -> BiasGradient.
#pragma once

#include "bwgemm/bwgemm.h"
#include "core/problem.h"

namespace bwgemm {

// The size of D along the dimension that is contiguous in memory, and the other.
struct OutputSize {
  std::int64_t rows, columns;
};

// With a gate, half of the product's. INVALID_VALUE if the gate or the order of D is none, or the
// extent is odd.
OutputSize checked_output_size(const bwgemmMatmulDesc_t& desc);

// `problem` as far as it is known: m, n, batch, beta, and D in the caller's order. Rows and columns
// are the caller's too.
Epilogue validated_epilogue(const bwgemmMatmulDesc_t& desc, const Problem& problem);

// The same; the matrix itself is judged where matrices are.
BiasGradient validated_bias_gradient(const bwgemmMatmulDesc_t& desc, const Problem& problem);

// NOT_SUPPORTED for what is legal but served by no kernel.
void check_epilogue_supported(const bwgemmMatmulDesc_t& desc, const Problem& problem,
                              const Epilogue& epilogue);

}  // namespace bwgemm
