// SPDX-License-Identifier: Apache-2.0
// FusedParams of a problem, and the map of an operand whose columns a gate reorders.
#pragma once

#include "core/kernel_config.h"
#include "core/problem.h"
#include "kernels/params.h"
#include "kernels/shape.h"
#include "plan/tensor_map.h"

namespace bwgemm {

// Fills params.fused, and params.c where the epilogue loads C itself. `problem` as the kernel sees
// it; params are zero where nothing is fused.
void fill_fused(const Problem& problem, const KernelConfig& config, bool is_transposed,
                KernelParams& params);

// A K-major B whose columns arrive as FusedParams::columns says.
TensorMapKey gated_key(const Problem& problem, const KernelShape& shape, Promotion promotion);

// A matrix as kernels address it that load or store it by elements: inner is k for A and B, n for
// the others.
StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous, std::int64_t batch);

}  // namespace bwgemm
