// SPDX-License-Identifier: Apache-2.0
// The tensor maps of operands that start anywhere: one for each residue class of their lines
// (device/residues.h).
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/problem.h"
#include "device/residues.h"
#include "program/part.h"

namespace bwgemm::sm90 {

// Whether the kernel takes the k of a block by residue classes (device/residues.h) instead of one
// after the other: where lines of one k do not start where TMA can place them. `problem` is as the
// kernel sees it.
bool takes_k_by_class(const Problem& problem, const KernelConfig& config);

// Lines from one batch of an operand to the next, where tensor maps see all batches as one tall
// matrix: their distance is whole lines, but no whole 16-byte units. 0: batches are a dimension of
// the maps. Only K-major operands are seen so: an MN-major batch needs zeros behind its last line
// of k. A batch's last tile loads lines behind the batch, those between two batches too; what they
// hold reaches rows of D that are not stored.
std::int64_t lines_between_batches(const Matrix& matrix, Major major, std::int64_t batch);

// Fills what ResidueParams adds to MappedParams, padding included. The problem is as the kernel
// sees it, one that rejects() lets pass.
void fill_residues(const Problem& problem, const KernelConfig& config, const Provenance& from,
                   ResidueParams& params, Linker& linker);

}  // namespace bwgemm::sm90
