// SPDX-License-Identifier: Apache-2.0
// add_bias_gradient: the step that adds up a matrix of a problem, behind the product's: how many
// CTAs share the chunks of an output, and the parameters. None of it changes a bit of the sums.
#pragma once

#include <cstddef>

#include "core/device_facts.h"
#include "core/problem.h"
#include "families/bias_gradient/params.h"
#include "program/part.h"

namespace bwgemm {

struct BiasGradientContext {
  DeviceFacts facts;
  int sm_limit = 0;  // multiprocessors the call may occupy; 0: all
  std::size_t workspace_bytes = 0;
};

struct BiasGradientLaunch {
  int grid = 0;  // CTAs; 0: the problem has no sums, and no parameters are filled
  std::size_t workspace_bytes = 0, arrivals = 0;
  BiasGradientParams params;

  bool any() const { return grid > 0; }
};

// Without scratch. Throws NOT_SUPPORTED if there are more sums than a grid can be told.
BiasGradientLaunch bias_gradient_launch(const Problem& problem, const BiasGradientContext& context);

// Nothing where there are no sums.
void add_bias_gradient(const Problem& problem, const Provenance& from, const Values& base,
                       const BiasGradientLaunch& launch, Part& part);

}  // namespace bwgemm
