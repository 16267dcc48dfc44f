// SPDX-License-Identifier: Apache-2.0
// SumsPlan: the launch that adds up a matrix of a problem, behind the product's: how many CTAs
// share the slices of an output, and the parameters. None of it changes a bit of the sums.
#pragma once

#include <cstddef>

#include "core/device_facts.h"
#include "core/problem.h"
#include "kernels/shape.h"
#include "kernels/sums/params.h"

namespace bwgemm {

struct SumsContext {
  DeviceFacts facts;
  int sm_limit = 0;  // multiprocessors the call may occupy; 0: all
  std::size_t workspace_bytes = 0;
};

struct SumsPlan {
  int grid = 0;  // CTAs; 0: the problem has no sums, and nothing else is filled
  Arch arch;
  std::size_t workspace_bytes, arrivals;
  SumsParams params;

  bool any() const { return grid > 0; }
};

// Without scratch. Throws NOT_SUPPORTED if there are more sums than a grid can be told.
SumsPlan make_sums_plan(const Problem& problem, const SumsContext& context);

// Of every such launch.
KernelShape sums_shape();

}  // namespace bwgemm
