// SPDX-License-Identifier: Apache-2.0
// The tensor maps of operands that start anywhere: one for each residue class of their lines
// (device/residues.h).
#pragma once

#include "core/kernel_config.h"
#include "core/problem.h"
#include "device/residues.h"
#include "program/part.h"

namespace bwgemm::sm90 {

// Whether the kernel takes the k of a block by residue classes (device/residues.h) instead of one
// after the other: where lines of one k do not start where TMA can place them. `problem` is as the
// kernel sees it.
bool takes_k_by_class(const Problem& problem, const KernelConfig& config);

// Fills what ResidueParams adds to KernelParams, padding included. The problem is as the kernel
// sees it, one that rejects() lets pass.
void fill_residues(const Problem& problem, const KernelConfig& config, const Provenance& from,
                   ResidueParams& params, Linker& linker);

}  // namespace bwgemm::sm90
