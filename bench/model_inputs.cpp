// SPDX-License-Identifier: Apache-2.0
#include "model_inputs.h"

#include <algorithm>
#include <stdexcept>

#include "api/validate.h"
#include "call.h"
#include "core/named.h"
#include "families/registry.h"
#include "families/variants.h"
#include "launch/scratch.h"

namespace bwgemm::bench {

const SelectOptions select_options{.sm_count_target = 0,
                                   .workspace_bytes = ScratchPool::max_partials_bytes};

const DeviceFacts& facts_of(NominalDevice device) {
  switch (device) {
    case NominalDevice::h100: return nominal_h100;
    case NominalDevice::h200: return nominal_h200;
    case NominalDevice::b200: return nominal_b200;
  }
  throw std::logic_error("no such device");
}

DeviceFacts usable_facts(NominalDevice device) {
  return limited(facts_of(device), select_options);
}

Problem library_problem(const BenchProblem& p) {
  const Pointers at = nominal_pointers(p);
  const bwgemmPointerMode_t mode =
      p.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST;
  if (p.epilogue.any()) {
    const MatmulCall call = matmul_call(p, at);
    return validated(matmul_arguments(&call.desc, at.alpha, at.a, at.b, call.beta, call.c, at.c),
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
  return validated(arguments_of(arguments), mode);
}

double ModelInputs::us() const {
  return source.whole_us(predicted_us(seen(), usable, *config, tile_n, splits, reduction));
}

ModelInputs model_inputs(const Problem& canonical, const DeviceFacts& usable,
                         const Variant& variant) {
  const auto row = std::find_if(
      kernel_variants.begin(), kernel_variants.end(),
      [&](const KernelConfig& config) { return kernel_name(config).view() == variant.kernel; });
  if (row == kernel_variants.end()) return {"no such kernel"};
  SelectOptions forced = select_options;
  forced.forced.kernel = variant.kernel;
  forced.forced.operands = named(variant.operands, all_operands);
  const SplitReduction reduction =
      variant.reduces_in_cluster ? SplitReduction::cluster : SplitReduction::workspace;
  const Source source = *Sources(canonical, usable, forced).begin();
  ModelInputs inputs{nullptr, &*row, source, usable, variant.tile_n, variant.splits, reduction};
  inputs.rejected = row_rejects(source, usable, *row, forced);
  if (inputs.rejected != nullptr) return inputs;
  if (name(source.operands) != variant.operands)
    inputs.rejected = "its operands cannot be copied so";
  else if (source.division.parts > 1 && variant.splits > 1)
    inputs.rejected = "k is split, and the product is divided";
  else if (variant.reduces_in_cluster &&
           !can_reduce_in_cluster(inputs.seen(), usable, *row, variant.tile_n, variant.splits))
    inputs.rejected = "its splits of k cannot be the CTAs of a cluster";
  return inputs;
}

}  // namespace bwgemm::bench
