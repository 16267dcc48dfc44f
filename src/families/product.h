// SPDX-License-Identifier: Apache-2.0
// add_product: the step of a part that multiplies: its grid, its cluster, and all parameters of its
// kernel.
#pragma once

#include <cstddef>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "program/part.h"
#include "rules/choice.h"

namespace bwgemm {

struct ProductContext {
  DeviceFacts facts;
  int sm_limit = 0;  // multiprocessors the call may occupy; 0: all
  // On the whole device: this kernel's clusters, and clusters of a CTA for each split, where the
  // choice adds splits in clusters; 0 of the latter also where the driver does not say.
  int resident_clusters = 0, resident_split_clusters = 0;
  std::size_t copied_bytes = 0;  // at the beginning of the workspace
  bool lets_next_start = false;  // even where the call is not short
};

// Throws NOT_SUPPORTED if not even one cluster fits the device. `config` is the variant that
// `choice` names, the problem one it can serve, whose operands are what `from` says of the
// arguments `base`.
void add_product(const Problem& problem, const Provenance& from, const Values& base,
                 const KernelConfig& config, const Choice& choice, const ProductContext& context,
                 Part& part);

}  // namespace bwgemm
