// SPDX-License-Identifier: Apache-2.0
// ModelInputs: what the library's cost model is given for one variant of a problem. Does not depend
// on the model's constants.
#pragma once

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "problem.h"
#include "select/candidate.h"
#include "selection.h"

namespace bwgemm::bench {

// As a handle sets it that was given no workspace.
extern const SelectOptions select_options;

const DeviceFacts& facts_of(NominalDevice device);
DeviceFacts usable_facts(NominalDevice device);  // by a call with select_options
// Throws bwgemm::Error where the library would refuse the call.
Problem library_problem(const BenchProblem& problem);

struct ModelInputs {
  const char* rejected;  // why it cannot serve; null: the rest is filled
  const KernelConfig* config = nullptr;
  Source source = {};
  DeviceFacts usable = {};
  int tile_n = 0, splits = 0;
  SplitReduction reduction = SplitReduction::workspace;

  const Problem& seen() const { return source.seen_by(*config); }
  double us() const;  // predicted
};

// `canonical` and `usable` come from the functions above.
ModelInputs model_inputs(const Problem& canonical, const DeviceFacts& usable,
                         const Variant& variant);

}  // namespace bwgemm::bench
