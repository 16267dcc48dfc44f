// SPDX-License-Identifier: Apache-2.0
// CopiesPlan: the launch that copies operands in front of the product: how many CTAs, and the
// parameters. The copies lie at the beginning of the call's workspace.
#pragma once

#include <cstddef>

#include "core/device_facts.h"
#include "core/problem.h"
#include "kernels/copies/params.h"
#include "kernels/shape.h"
#include "plan/plan.h"
#include "select/copies.h"

namespace bwgemm {

struct CopiesPlan {
  int grid = 0;  // CTAs; 0: nothing is copied, and nothing else is filled
  Arch arch;
  std::uintptr_t workspace;  // which begins with so many bytes of copies
  std::size_t bytes;
  CopiesParams params;

  bool any() const { return grid > 0; }
};

// With copies at `workspace`. sm_limit: multiprocessors the call may occupy; 0: all.
CopiesPlan make_copies_plan(const Problem& problem, const Copies& copies, const DeviceFacts& facts,
                            int sm_limit, std::uintptr_t workspace);

// Makes it the plan of the operands at `from` and returns where the product then finds its own.
// Operands that are not copied stay where they are.
Addresses move_copies(CopiesPlan& plan, const Addresses& from, std::uintptr_t workspace);

// Of every such launch.
KernelShape copies_shape();

}  // namespace bwgemm
