// SPDX-License-Identifier: Apache-2.0
// Operands that start anywhere, of kernels that move their lines: what such a kernel refuses, how
// long it takes, and its tensor maps, one for each residue class of lines (device/residues.h). All
// take the problem as the kernel sees it.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/problem.h"
#include "device/residues.h"
#include "program/part.h"
#include "rules/rejects.h"

namespace bwgemm::sm90 {

// Whether the kernel takes the k of a block by residue classes (device/residues.h) instead of one
// after the other: where lines of one k do not start where TMA can place them.
bool takes_k_by_class(const Problem& problem, const KernelConfig& config);

// Lines from one batch of an operand to the next, where tensor maps see all batches as one tall
// matrix: their distance is whole lines, but no whole 16-byte units. 0: batches are a dimension of
// the maps. Only K-major operands are seen so: an MN-major batch needs zeros behind its last line
// of k. A batch's last tile loads lines behind the batch, those between two batches too; what they
// hold reaches rows of D that are not stored.
std::int64_t lines_between_batches(const Matrix& matrix, Major major, std::int64_t batch);

// Fills what ResidueParams adds to MappedParams, padding included, for a problem that rejects()
// lets pass.
void fill_residues(const Problem& problem, const KernelConfig& config, const Provenance& from,
                   ResidueParams& params, Linker& linker);

// Null, or why the kernel cannot load an operand.
const char* residues_reject(const Problem& problem, const Texts& texts);

// One k block of a kernel that moves the lines of operands that TMA cannot place, in us: fitted to
// 464 times of an H200 (bench/log/2026-11-24.md). The longer of products and moves, which depend
// on how many lines they move, and whether in another order of k, as a moved MN-major operand asks.
double moving_block_us(const Problem& problem, const KernelConfig& config);

// The epilogue of a tile. Elements leave in segments of 64 columns (shifted/scatter.h), those that
// D has.
double scattered_us(const Problem& problem, const KernelConfig& config);

// Time until the first lines are moved; 0 where TMA can place both operands: then none are.
double first_moves_us(const Problem& problem);

}  // namespace bwgemm::sm90
