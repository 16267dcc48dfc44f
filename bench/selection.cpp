// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <stdexcept>

#include "core/error.h"
#include "core/tiling.h"
#include "families/registry.h"
#include "families/variants.h"
#include "model_inputs.h"
#include "select/candidate.h"
#include "select/select.h"

namespace bwgemm::bench {

namespace {

Variant variant_of(const KernelConfig& config, int tile_n, int splits, SplitReduction reduction,
                   Operands operands) {
  return {std::string(kernel_name(config).view()),
          config.tile.m,
          tile_n,
          config.tile.k,
          splits,
          reduction == SplitReduction::cluster,
          std::string(name(operands))};
}

// Of one kernel, its every number of splits and place of their sums.
void add_predictions(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                     std::vector<Prediction>& all) {
  const Candidate best = judged(source, usable, config, select_options);
  if (best.rejected != nullptr) {
    all.push_back({variant_of(config, config.tile.n, 1, SplitReduction::workspace, source.operands),
                   0, best.rejected});
    return;
  }
  const Problem& seen = source.seen_by(config);
  const Splits splits = splits_to_try(seen, usable, config, source.workspace_bytes,
                                      allowed_splits(source, select_options), best.tile_n);
  for (int i = 0; i < splits.count; ++i)
    for (const SplitReduction reduction : {SplitReduction::workspace, SplitReduction::cluster}) {
      const int number = splits.number[i];
      if (reduction == SplitReduction::cluster &&
          !can_reduce_in_cluster(seen, usable, config, best.tile_n, number))
        continue;
      const double us = predicted_us(seen, usable, config, best.tile_n, number, reduction);
      all.push_back({variant_of(config, best.tile_n, number, reduction, source.operands),
                     source.whole_us(us), ""});
    }
}

}  // namespace

std::string_view name(NominalDevice device) {
  switch (device) {
    case NominalDevice::h100: return "h100";
    case NominalDevice::h200: return "h200";
    case NominalDevice::b200: return "b200";
  }
  return "?";
}

NominalDevice nearest_device(int compute_capability_major, double memory_bytes_per_us) {
  if (compute_capability_major != 9) return NominalDevice::b200;
  const double between = (nominal_h100.memory_bytes_per_us + nominal_h200.memory_bytes_per_us) / 2;
  const bool is_known = memory_bytes_per_us > 0;
  return is_known && memory_bytes_per_us < between ? NominalDevice::h100 : NominalDevice::h200;
}

NominalDevice device_of(const std::string& kernel) {
  return kernel.starts_with("bwgemm_sm90_") ? NominalDevice::h200 : NominalDevice::b200;
}

std::vector<Prediction> predictions(const BenchProblem& problem, NominalDevice device) {
  const Problem canonical = library_problem(problem);
  const DeviceFacts usable = usable_facts(device);
  std::vector<Prediction> all;
  const Sources sources(canonical, usable, select_options);
  for (const KernelConfig& config : kernel_variants)
    for (const Source& source : sources) add_predictions(source, usable, config, all);
  return all;
}

std::vector<Prediction> predictions(const BenchProblem& problem, NominalDevice device,
                                    std::span<const Variant> variants) {
  const Problem canonical = library_problem(problem);
  const DeviceFacts usable = usable_facts(device);
  std::vector<Prediction> all;
  for (const Variant& variant : variants) {
    const ModelInputs inputs = model_inputs(canonical, usable, variant);
    const bool serves = inputs.rejected == nullptr;
    all.push_back({variant, serves ? inputs.us() : 0, serves ? "" : inputs.rejected});
  }
  return all;
}

Prediction chosen(const BenchProblem& problem, NominalDevice device) {
  try {
    const Choice choice =
        select(library_problem(problem), facts_of(device), kernel_variants, select_options);
    const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice.variant)];
    return {variant_of(config, choice.tile_n, choice.splits, *choice.reduction, choice.operands),
            choice.predicted_us, ""};
  } catch (const Error& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace bwgemm::bench
