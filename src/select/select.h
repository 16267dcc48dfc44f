// SPDX-License-Identifier: Apache-2.0
// Select: which kernel computes a problem, and why the others do not. A pure function of a problem,
// the device, the table of kernels and the options: no driver call, no state, no heap unless it
// fails. What is launched for a choice is built in program/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "rules/choice.h"

namespace bwgemm {

struct SelectOptions {
  // Exactly this, whatever else is forced below; ignored where A and B are not to be touched.
  std::optional<Recipe> pick = std::nullopt;
  bool is_pick_measured = false;  // rather than the caller's or predicted: explain() says so
  // Only what adds the products of an element in the order that all such choices share: see
  // batch_invariance_rejects().
  bool batch_invariant = false;
  ForcedRecipe forced = {};
  int sm_count_target = 0;  // multiprocessors the call may occupy; 0: all
  std::size_t workspace_bytes = 0;

  bool has_pick_for(const Problem& problem) const { return pick && !problem.scale_only(); }
};

// The variant with the least predicted time among those that can serve (on sm100: the first of
// those that the model cannot tell apart; where a shortlist is made, its first), with copied
// operands if that saves enough, or the forced one, or the pick. Throws INVALID_VALUE if no variant
// has the forced name, NOT_SUPPORTED with the reasons if the pick, the forced variant, or every
// variant, cannot serve. The problem is not empty().
Choice select(const Problem& problem, const DeviceFacts& facts,
              std::span<const KernelConfig> variants, const SelectOptions& options);

// Whether select() would throw nothing (algos.cpp).
bool can_serve(const Problem& problem, const DeviceFacts& facts,
               std::span<const KernelConfig> variants, const SelectOptions& options);

// A report in lines: the problem, the kernel that select() would return with its launch, and for
// every other variant its predicted time or why it cannot serve. Throws only what a wrong forced
// name throws; that nothing serves is part of the report.
std::string explain(const Problem& problem, const DeviceFacts& facts,
                    std::span<const KernelConfig> variants, const SelectOptions& options);

// Null, or why the kernel does not form every element of D by the same additions in the same order
// as all others that this lets pass, whatever the sizes, the alignment and the device's load are.
// The order is that of the tensor cores over undivided k: groups of 16 products from the first to
// the last, each added to the sum so far by one instruction, zeros behind the end of k. So add
// cooperative, pair, single, direct and warp kernels for every tile, major and output, and wgmma
// and mma.sync add alike in every bit (measured on an H200); tcgen05.mma is assumed to. Kernels
// that move lines take k in another order where operands of one k per line are unaligned; dot
// kernels always do. Splits of k are summed in another order too, and where they are cut would have
// to follow from k alone, so that large problems would need workspace as well: k is not split.
const char* batch_invariance_rejects(const Problem& problem, const KernelConfig& config);

// The choice as it is picked again, for one of its parts too.
Recipe recipe_of(const Choice& choice);

// Bytes of copies and partial sums, and number of zeroed counters, that the choice uses: of its
// parts that which needs most. The counters are at most half of the CTAs resident on the device.
std::size_t workspace_bytes(const Problem& problem, const KernelConfig& config,
                            const Choice& choice);
std::size_t arrival_count(const KernelConfig& config, const Choice& choice);

}  // namespace bwgemm
