// SPDX-License-Identifier: Apache-2.0
#include "api/queries.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "api/handle.h"
#include "api/options.h"
#include "api/program.h"
#include "api/validate.h"
#include "families/bias_gradient/step.h"
#include "families/variants.h"

namespace bwgemm {
namespace {

// Without a handle: of what a new one would do on the two chips.
std::string nominal_explanation(const Problem& problem) {
  const std::string kernel = option_value(Option::force_kernel);
  const SelectOptions options{.forced = forced_recipe(kernel),
                              .workspace_bytes = ScratchPool::max_partials_bytes};
  return "Nominal H200\n" + explain(problem, nominal_h200, kernel_variants, options) +
         "\nNominal B200\n" + explain(problem, nominal_b200, kernel_variants, options);
}

std::size_t workspace_wanted(const Handle& handle, const Arguments& arguments) {
  const Problem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return 0;
  const SelectOptions options =
      handle.select_options(problem, call_settings(handle, arguments), SIZE_MAX);
  const Choice choice = select(problem, handle.facts, kernel_variants, options);
  const BiasGradientLaunch bias_gradient =
      bias_gradient_launch(problem, {handle.facts, handle.sm_count_target, SIZE_MAX});
  return std::max(
      workspace_bytes(problem, kernel_variants[static_cast<std::size_t>(choice.variant)], choice),
      bias_gradient.any() ? bias_gradient.workspace_bytes : 0);
}

}  // namespace

void workspace_to(bwgemmHandle_t handle, const Arguments& arguments, std::size_t* to) {
  const std::size_t wanted = workspace_wanted(checked(handle), arguments);
  require(to != nullptr, "size is null but will be written");
  *to = wanted;
}

void explain_to(bwgemmHandle_t c_handle, const Arguments& arguments, char* to, std::size_t size) {
  const Handle* handle = c_handle != nullptr ? &checked(c_handle) : nullptr;
  const Problem problem =
      validated(arguments, handle != nullptr ? handle->pointer_mode : BWGEMM_POINTER_MODE_HOST);
  require(to != nullptr, "text is null but will be written");
  require(size > 0, "size is 0 but must be at least 1");
  const std::string report =
      problem.empty() ? "nothing to launch: m, n or the batch is 0\n"
      : handle != nullptr
          ? explain(problem, handle->facts, kernel_variants,
                    handle->select_options(problem, call_settings(*handle, arguments)))
          : nominal_explanation(problem);
  const std::size_t kept = std::min(report.size(), size - 1);
  std::memcpy(to, report.data(), kept);
  to[kept] = '\0';
}

}  // namespace bwgemm
