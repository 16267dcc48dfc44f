// SPDX-License-Identifier: Apache-2.0
// Candidate: one variant judged against one problem. What select() compares and explain() prints.
#pragma once

#include <array>
#include <cstddef>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "kernels/shape.h"
#include "select/cost.h"
#include "select/select.h"

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

// Null, or why tiles of a kernel that leaves their width to the launch cannot be so wide. The
// problem is as the kernel sees it.
inline const char* tile_n_rejects(const KernelConfig& config, const Problem& seen, int tile_n) {
  const bool has_gate = seen.epilogue.gate != Gate::none;
  if (const char* reason = sm100::invalid_because(config, tile_n, b_major(seen), has_gate))
    return reason;
  // Nothing orders these loads before the stores of whole boxes by TMA.
  const bool is_in_place = seen.reads_c() && seen.c.data == seen.d.data;
  if (is_in_place && seen.epilogue.any() && sm100::leaves_rest(config, tile_n))
    return "tile_n must be a multiple of 32 where a fused epilogue adds a C that is D: threads "
           "load such a C otherwise";
  return nullptr;
}

// Calls body(tile_n) for the config's tile, or for every run-time one that B allows. The problem is
// as the kernel sees it.
template <class Body>
void for_each_tile_n(const KernelConfig& config, const Problem& seen, const Body& body) {
  if (config.tile.n != 0) return body(config.tile.n);
  constexpr int step = sm100::tile_n_step;
  for (int tile_n = step; tile_n <= sm100::max_tile_n(config); tile_n += step)
    if (tile_n_rejects(config, seen, tile_n) == nullptr) body(tile_n);
}

// The variant with the forced name. Throws INVALID_VALUE if there is none.
int forced_variant(std::span<const KernelConfig> variants, std::string_view name);

}  // namespace bwgemm
