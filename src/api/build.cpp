// SPDX-License-Identifier: Apache-2.0
#include "api/build.h"

#include <algorithm>

#include "api/options.h"
#include "families/bias_gradient/step.h"
#include "families/copies/step.h"
#include "families/product.h"
#include "families/variants.h"

namespace bwgemm {
namespace {

// What a part is built from besides its problem.
struct Call {
  Handle& handle;
  const Values base;
  const Provenance from;
};

Part built_part(const Call& call, const Problem& problem, const Choice& choice,
                const BiasGradientLaunch& bias_gradient, Overlap first) {
  Handle& handle = call.handle;
  const Copies copies = copies_of(problem, choice.operands);
  Part part(first);
  add_copies(problem, call.from, call.base, copies, choice, handle.facts, handle.sm_count_target,
             part);
  const int split_clusters = choice.reduction == SplitReduction::cluster
                                 ? std::max(0, handle.facts.clusters.of(choice.splits))
                                 : 0;
  add_product(with_copies(problem, copies, call.base[Argument::workspace]),
              with_copies(call.from, copies), call.base,
              kernel_variants[static_cast<std::size_t>(choice.variant)], choice,
              {.facts = handle.facts,
               .sm_limit = handle.sm_count_target,
               .resident_clusters = handle.kernels.get(choice.variant).resident_clusters,
               .resident_split_clusters = split_clusters,
               .copied_bytes = copies.bytes(),
               .lets_next_start = handle.programmatic_launch == programmatic_launch_always},
              part);
  add_bias_gradient(problem, call.from, call.base, bias_gradient, part);
  return part;
}

bool uses_scratch(const Part& part) {
  const auto& relocations = part.relocations();
  return std::any_of(relocations.begin(), relocations.end(), [](const Relocation& relocation) {
    return relocation.argument == Argument::workspace || relocation.argument == Argument::counters;
  });
}

}  // namespace

Program built(Handle& handle, const ValidProblem& problem, const Choice& choice,
              const CallSettings& settings) {
  const Call call{handle, values_of(problem, problem.is_exchanged),
                  provenance(problem, problem.is_exchanged)};
  const BiasGradientLaunch bias_gradient = bias_gradient_of(handle, problem, settings);
  Program program;
  program.need = need_of(problem, choice, bias_gradient, settings);
  const int parts = choice.division.parts;
  if (parts == 1) {
    program.parts.push_back(built_part(call, problem, choice, bias_gradient, Overlap::as_set));
  } else {
    SelectOptions options = handle.select_options(settings.workspace.usable());
    options.pick = recipe_of(choice);
    for (int i = 0; i < parts; ++i) {
      const Problem part = part_of(problem, choice.division, i);
      program.parts.push_back(built_part(call, part,
                                         select(part, handle.facts, kernel_variants, options), {},
                                         Overlap::as_set_in_call));
    }
  }
  program.uses_scratch = std::any_of(program.parts.begin(), program.parts.end(), uses_scratch);
  return program;
}

BiasGradientLaunch bias_gradient_of(const Handle& handle, const Problem& problem,
                                    const CallSettings& call) {
  return bias_gradient_launch(problem,
                              {handle.facts, handle.sm_count_target, call.workspace.usable()});
}

ScratchNeed need_of(const Problem& problem, const Choice& choice,
                    const BiasGradientLaunch& bias_gradient, const CallSettings& call) {
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice.variant)];
  ScratchNeed need{.partials_bytes = workspace_bytes(problem, config, choice),
                   .partials_limit = call.workspace.usable(),
                   .arrivals = arrival_count(config, choice)};
  if (!bias_gradient.any()) return need;
  need.partials_bytes = std::max(need.partials_bytes, bias_gradient.workspace_bytes);
  need.arrivals = std::max(need.arrivals, bias_gradient.arrivals);
  return need;
}

}  // namespace bwgemm
