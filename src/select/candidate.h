// SPDX-License-Identifier: Apache-2.0
// Candidate: one variant judged against one problem. What select() compares and explain() prints.
#pragma once

#include <array>
#include <cstddef>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "families/cost.h"
#include "families/facts.h"
#include "families/registry.h"
#include "select/select.h"
#include "select/splits.h"

namespace bwgemm {

struct Candidate : Recipe {
  const char* rejected = nullptr;  // null: can serve, and the rest is filled
  double predicted_us = 0;
  Division division = {};
};

// A call's problem with operands where they are, or copied; if it is divided, its first part.
struct Source {
  Operands operands;
  Problem problem;
  Problem exchanged;            // the same, transposed (swap-AB), which some variants see it as
  std::size_t workspace_bytes;  // less what copies take
  double copying_us = 0;
  Division division = {};
  Problem last = {};  // its last part, where it is divided

  const Problem& seen_by(const KernelConfig& config) const {
    return sees_transposed(config, problem) ? exchanged : problem;
  }

  // The time of all parts, which are taken to be alike.
  double whole_us(double part_us) const { return division.parts * (copying_us + part_us); }
};

// Divided products have nothing but copies in the workspace.
inline int allowed_splits(const Source& source, const SelectOptions& options) {
  return options.batch_invariant || source.division.parts > 1 ? 1 : options.forced.splits;
}

// Those that the options allow: at least one.
class Sources {
 public:
  Sources(const Problem& problem, const DeviceFacts& usable, const SelectOptions& options);

  auto begin() const { return sources_.begin(); }
  auto end() const { return sources_.begin() + count_; }

 private:
  void add(const Source& source) { sources_[static_cast<std::size_t>(count_++)] = source; }

  std::array<Source, all_operands.size()> sources_;
  int count_ = 0;
};

// The device as the call may use it.
DeviceFacts limited(const DeviceFacts& facts, const SelectOptions& options);

// `usable` comes from limited(). Of the run-time tiles and splits the best is taken.
Candidate judged(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                 const SelectOptions& options);
// And of the sources.
Candidate judged(const Problem& problem, const DeviceFacts& usable, const KernelConfig& config,
                 const SelectOptions& options);

// options.pick, judged: its variant is in `variants`.
Candidate picked(const Problem& problem, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, const SelectOptions& options);

// Null, or why the variant is no candidate of the call, or of one of its parts; its tiles and
// splits are not looked at.
const char* row_rejects(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                        const SelectOptions& options);

// The number of splits judged, whose sums are added where it takes less time. The problem is as the
// kernel sees it.
Candidate with_sums(const Problem& seen, const DeviceFacts& usable, const KernelConfig& config,
                    const SelectOptions& options, int tile_n, int splits,
                    const WithoutSplits& known);

// Calls body(tile_n) for the config's tile, or for every run-time one that the problem allows. The
// problem is as the kernel sees it.
template <class Body>
void for_each_tile_n(const KernelConfig& config, const Problem& seen, const Body& body) {
  if (config.tile.n != 0) return body(config.tile.n);
  for (int tile_n = tile_n_step; tile_n <= widest_tile; tile_n += tile_n_step)
    if (functions_of(config).tile_n_rejects(config, seen, tile_n) == nullptr) body(tile_n);
}

// The variant with the forced name. Throws INVALID_VALUE if there is none.
int forced_variant(std::span<const KernelConfig> variants, std::string_view name);

}  // namespace bwgemm
