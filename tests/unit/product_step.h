// SPDX-License-Identifier: Apache-2.0
// The fixture of tests of the step that multiplies.
#pragma once

#include <cstddef>
#include <gtest/gtest.h>
#include <string_view>

#include "fake_driver.h"
#include "families/variants.h"
#include "planned.h"

namespace bwgemm::test {

class ProductStep : public testing::Test {
 protected:
  // A forced choice, planned with the occupancy that a whole device has.
  Planned planned(const Problem& problem, std::string_view kernel, int sm_limit = 0,
                  std::size_t workspace = 0) {
    SelectOptions options;
    options.forced.kernel = kernel;
    options.sm_count_target = sm_limit;
    options.workspace_bytes = workspace;
    const bool is_sm90 = kernel.find("sm90") != kernel.npos;
    context_.facts = is_sm90 ? nominal_h200 : nominal_b200;
    choice_ = select(problem, context_.facts, kernel_variants, options);
    const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice_.variant)];
    context_.sm_limit = sm_limit;
    context_.resident_clusters =
        config.ctas_per_sm * context_.facts.sm_count / config.cluster.size();
    return planned_product(problem, config, choice_, context_, maps_, {&partial_, &arrival_});
  }

  TensorMapCache maps_{fake_encode};
  ProductContext context_;
  Choice choice_{};
  float partial_ = 0;
  std::uint32_t arrival_ = 0;
};

}  // namespace bwgemm::test
