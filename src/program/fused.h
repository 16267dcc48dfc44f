// SPDX-License-Identifier: Apache-2.0
// FusedParams of a problem, and the map of an operand whose columns a gate reorders.
#pragma once

#include "core/kernel_config.h"
#include "core/problem.h"
#include "kernels/params.h"
#include "kernels/shape.h"
#include "program/part.h"
#include "program/tensor_map.h"

namespace bwgemm {

// Whether tiles of so many columns are no whole boxes of output. Threads then store some columns
// of them and load those of C, in a fused epilogue all of C. The problem is as the kernel sees it,
// here and below.
bool leaves_rest(const Problem& problem, const KernelConfig& config, int tile_n);

// Fills params.fused, and params.c where the epilogue loads C itself. params.tile_n is filled;
// params are zero where nothing is fused.
void fill_fused(const Problem& problem, const KernelConfig& config, bool is_transposed,
                const Provenance& from, KernelParams& params, Linker& linker);

// A K-major operand, that along D's contiguous dimension, whose columns (or rows) arrive as
// FusedParams::columns says; `box_rows` at a time.
TensorMapKey gated_key(const Problem& problem, const Matrix& operand, const KernelShape& shape,
                       int box_rows, Promotion promotion);

// A matrix as kernels address it that load or store it by elements: inner is k for A and B, n for
// the others.
StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous, std::int64_t batch);

}  // namespace bwgemm
