// SPDX-License-Identifier: Apache-2.0
// The tensor maps of operands that start anywhere: one for each residue class of their lines
// (kernels/residues.h).
#pragma once

#include "core/kernel_config.h"
#include "core/problem.h"
#include "kernels/residues.h"
#include "program/part.h"

namespace bwgemm {

// Fills what ResidueParams adds to KernelParams, padding included. The problem is as the kernel
// sees it, one that select's rejects() lets pass.
void fill_residues(const Problem& problem, const KernelConfig& config, const Provenance& from,
                   ResidueParams& params, Linker& linker);

}  // namespace bwgemm
