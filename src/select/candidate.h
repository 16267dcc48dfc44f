// SPDX-License-Identifier: Apache-2.0
// Candidate: one row judged against one problem. What select() compares and explain() prints.
#pragma once

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "select/select.h"

namespace bwgemm {

struct Candidate {
  const char* rejected;  // null: can serve, and the rest is filled
  int tile_n, splits;
  double predicted_us;
};

// The device as the call may use it.
DeviceFacts limited(const DeviceFacts& facts, const SelectOptions& options);

// `usable` comes from limited(). Of the run-time tiles and splits the best is taken.
Candidate judged(const Problem& problem, const DeviceFacts& usable, const KernelConfig& config,
                 const SelectOptions& options);

// The row with the forced name. Throws INVALID_VALUE if there is none.
int forced_row(std::span<const KernelConfig> rows, std::string_view name);

}  // namespace bwgemm
