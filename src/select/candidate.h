// SPDX-License-Identifier: Apache-2.0
// Candidate: one variant judged against one problem. What select() compares and explain() prints,
// and what the variants are judged by: operands in place or copied (Source), numbers of splits, and
// a look that passes over most of the table (PreFilter).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"
#include "families/registry.h"
#include "select/select.h"

namespace bwgemm {

// A predicted time as it counts against those of other sources. In place it counts less: a kernel
// and a place in the workspace more are not worth a little.
inline double weighed_us(double predicted_us, Operands operands) {
  constexpr double needed_part_of_copies = 0.95;
  return operands == Operands::in_place ? needed_part_of_copies * predicted_us : predicted_us;
}

// A choice that is not made yet: nothing of it depends on all tiles. `variant` is the caller's to
// fill, who knows the table.
struct Candidate : Choice {
  const char* rejected = nullptr;  // null: can serve, and the rest is filled

  double weighed_us() const { return bwgemm::weighed_us(predicted_us, operands); }
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

inline Source in_place(const Problem& problem, const SelectOptions& options) {
  return {Operands::in_place, problem, transposed(problem), options.workspace_bytes};
}

// Nothing if operands cannot be copied so.
std::optional<Source> source_of(const Problem& problem, Operands operands,
                                const DeviceFacts& usable, const SelectOptions& options);

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
  void add_copied(const Problem& problem, const DeviceFacts& usable, const SelectOptions& options);
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

// Calls body(candidate) for numbers of splits worth predicting for, until times get worse. The
// candidates are of one part of the source.
template <class Body>
void for_each_split(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                    const SelectOptions& options, int tile_n, const Body& body);

// A candidate of one part of the source, as one of the whole call.
inline Candidate of_source(Candidate candidate, const Source& source) {
  candidate.predicted_us = source.whole_us(candidate.predicted_us);
  candidate.operands = source.operands;
  candidate.division = source.division;
  return candidate;
}

// Splits of k (split-K): all take the problem as the kernel sees it (core/tiling.h). facts.sm_count
// is what the call may occupy. tile_n: of the config, or the run-time value.

// Numbers of splits of k worth predicting for; without any k is not split.
struct Splits {
  static constexpr int capacity = 8;
  int number[capacity] = {1};
  int count = 1;
  // The first so many are 1, the most and its halves, in the order of size. What follows them is
  // tried in any case.
  int halves = 1;
  void add(int splits) {
    if (std::find(number, number + count, splits) == number + count) number[count++] = splits;
  }
};

// How many of the tiles are cut into so many splits: see rules/family.h.
std::int64_t split_tiles(const Problem& problem, const DeviceFacts& facts,
                         const KernelConfig& config, int tile_n, int splits);

// 1, and some more for which split tiles * splits do not exceed the device, no split is empty or
// very short, and the partial sums fit `workspace_bytes`; the most first where tiles leave more
// than half of the device idle. With `forced` > 0 the number nearest to it. tile_n: the run-time
// value, where the config leaves it to the launch.
Splits splits_to_try(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config,
                     std::size_t workspace_bytes, int forced, int tile_n = 0);

template <class Body>
void for_each_split(const Source& source, const DeviceFacts& usable, const KernelConfig& config,
                    const SelectOptions& options, int tile_n, const Body& body) {
  const Problem& seen = source.seen_by(config);
  const Splits splits = splits_to_try(seen, usable, config, source.workspace_bytes,
                                      allowed_splits(source, options), tile_n);
  const WithoutSplits known = without_splits(seen, config, tile_n);
  const auto predict = [&](int i) {
    const Candidate candidate =
        with_sums(seen, usable, config, options, tile_n, splits.number[i], known);
    body(candidate);
    return candidate.predicted_us;
  };
  for (int i = splits.halves; i < splits.count; ++i) predict(i);
  constexpr double far = 1.3;  // what lies further on is not near the best either
  double least_us = std::numeric_limits<double>::infinity(), last_us = least_us;
  for (int i = 0; i < splits.halves; ++i) {
    const double us = predict(i);
    if (us > last_us && us > far * least_us) return;
    least_us = std::min(least_us, us), last_us = us;
  }
}

// Whether the splits of a tile can be the CTAs of a cluster, all of which run at the same time.
// They need no workspace; what splits_to_try() asks for is for a device on which they do not all
// fit.
bool can_reduce_in_cluster(const Problem& problem, const DeviceFacts& facts,
                           const KernelConfig& config, int tile_n, int splits);

// What a look at the operands tells of a variant. Most of the table is for another device, for
// other majors or for operands that TMA can load: selection passes over them without asking
// rejects() why.
class PreFilter {
 public:
  // Refers to the problem.
  PreFilter(const Problem& given, const DeviceFacts& facts);

  // False only where rejects() has a reason.
  bool may_serve(const KernelConfig& config) const {
    if (config.arch != arch_) return false;
    const bool is_transposed = sees_transposed(config, given_);
    const Operand& a = is_transposed ? b_ : a_;
    const Operand& b = is_transposed ? a_ : b_;
    return fits(config.a, a.major) && fits(config.b, b.major) &&
           (config.load != Load::tma || (a.fits_map && b.fits_map)) &&
           (!has_loose_rows(config) || b.fits_map);
  }

 private:
  struct Operand {
    Major major;
    bool fits_map;
  };

  static bool fits(Major taken, Major major) { return taken == Major::any || taken == major; }

  const Problem& given_;
  Arch arch_;
  Operand a_, b_;
};

}  // namespace bwgemm
