// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <stdexcept>

#include "api/validate.h"
#include "call.h"
#include "core/error.h"
#include "core/named.h"
#include "core/tiling.h"
#include "kernels/rows.h"
#include "launch/scratch.h"
#include "select/candidate.h"
#include "select/cost.h"
#include "select/rejects.h"
#include "select/select.h"

namespace bwgemm::bench {

namespace {

// As a handle sets it that was given no workspace.
constexpr SelectOptions options{
    .forced_kernel = {}, .sm_count_target = 0, .workspace_bytes = ScratchPool::max_partials_bytes};

const DeviceFacts& facts_of(NominalDevice device) {
  switch (device) {
    case NominalDevice::h100: return nominal_h100;
    case NominalDevice::h200: return nominal_h200;
    case NominalDevice::b200: return nominal_b200;
  }
  throw std::logic_error("no such device");
}

Problem library_problem(const BenchProblem& p) {
  const Pointers at = nominal_pointers(p);
  const bwgemmPointerMode_t mode =
      p.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST;
  if (p.epilogue.any()) {
    const MatmulCall call = matmul_call(p, at);
    return validated(MatmulArguments{call.desc, at.alpha, at.a, at.b, call.beta, call.c, at.c},
                     mode);
  }
  const GemmArguments arguments{p.transa ? BWGEMM_OP_T : BWGEMM_OP_N,
                                p.transb ? BWGEMM_OP_T : BWGEMM_OP_N,
                                p.m,
                                p.n,
                                p.k,
                                at.alpha,
                                at.a,
                                p.a.type,
                                p.a.ld,
                                p.a.stride,
                                at.b,
                                p.b.type,
                                p.b.ld,
                                p.b.stride,
                                at.beta,
                                at.c,
                                p.c.type,
                                p.c.ld,
                                p.c.stride,
                                p.batch,
                                BWGEMM_COMPUTE_32F,
                                -1};
  return validated(arguments, mode);
}

Variant variant_of(const KernelConfig& config, int tile_n, int splits, SliceSums sums,
                   Operands operands) {
  return {std::string(kernel_name(config).view()),
          config.tile.m,
          tile_n,
          config.tile.k,
          splits,
          sums == SliceSums::cluster,
          std::string(name(operands))};
}

// Of one kernel, its every number of splits and place of their sums.
void add_predictions(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                     std::vector<Prediction>& all) {
  const Candidate best = judged(source, usable, config, options);
  if (best.rejected != nullptr) {
    all.push_back({variant_of(config, config.tile.n, 1, SliceSums::memory, source.operands), 0,
                   best.rejected});
    return;
  }
  const Problem& seen = source.seen_by(config);
  const Splits splits = splits_to_try(seen, usable, config, source.workspace_bytes,
                                      allowed_splits(source, options), best.tile_n);
  for (int i = 0; i < splits.count; ++i)
    for (const SliceSums sums : {SliceSums::memory, SliceSums::cluster}) {
      const int number = splits.number[i];
      if (sums == SliceSums::cluster &&
          !can_sum_in_cluster(seen, usable, config, best.tile_n, number))
        continue;
      const double us = predicted_us(seen, usable, config, best.tile_n, number, sums);
      all.push_back({variant_of(config, best.tile_n, number, sums, source.operands),
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
  const DeviceFacts usable = limited(facts_of(device), options);
  std::vector<Prediction> all;
  const Sources sources(canonical, usable, options);
  for (const KernelConfig& config : kernel_rows)
    for (const Source& source : sources) add_predictions(source, usable, config, all);
  return all;
}

std::vector<Prediction> predictions(const BenchProblem& problem, NominalDevice device,
                                    std::span<const Variant> variants) {
  const Problem canonical = library_problem(problem);
  const DeviceFacts usable = limited(facts_of(device), options);
  std::vector<Prediction> all;
  for (const Variant& variant : variants) {
    all.push_back({variant, 0, "no such kernel"});
    SelectOptions forced = options;
    forced.forced_kernel = variant.kernel;
    forced.forced_operands = named(variant.operands, all_operands);
    const Source source = *Sources(canonical, usable, forced).begin();
    for (const KernelConfig& config : kernel_rows) {
      if (kernel_name(config).view() != variant.kernel) continue;
      const Problem& seen = source.seen_by(config);
      const char* rejected = row_rejects(source, usable, config, forced);
      if (rejected == nullptr && name(source.operands) != variant.operands)
        rejected = "its operands cannot be copied so";
      if (rejected == nullptr && source.division.parts > 1 && variant.splits > 1)
        rejected = "k is split, and the product is divided";
      if (rejected == nullptr && variant.sums_in_cluster &&
          !can_sum_in_cluster(seen, usable, config, variant.tile_n, variant.splits))
        rejected = "its slices of k cannot be the CTAs of a cluster";
      all.back().rejected = rejected != nullptr ? rejected : "";
      if (rejected == nullptr)
        all.back().us = source.whole_us(
            predicted_us(seen, usable, config, variant.tile_n, variant.splits,
                         variant.sums_in_cluster ? SliceSums::cluster : SliceSums::memory));
    }
  }
  return all;
}

Prediction chosen(const BenchProblem& problem, NominalDevice device) {
  try {
    const Choice choice = select(library_problem(problem), facts_of(device), kernel_rows, options);
    const KernelConfig& config = kernel_rows[static_cast<std::size_t>(choice.row)];
    return {variant_of(config, choice.tile_n, choice.splits, choice.sums, choice.operands),
            choice.predicted_us, ""};
  } catch (const Error& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace bwgemm::bench
