// SPDX-License-Identifier: Apache-2.0
// Algos: everything that could compute a problem, the shortlist first and then best prediction
// first, and the number by which a
// caller names one of them. The number holds variant, tile, splits, order of tiles and operands,
// and a mark of the table of kernels, so that one of another build is known as such. decided()
// and forced_variant() say what follows where somebody has named an algo or a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "select/candidate.h"

namespace bwgemm {

struct Algo {
  Recipe recipe;
  double predicted_us;
  std::size_t workspace_bytes;
  bool is_batch_invariant;
};

// A variant is one of kernel_variants. The number is never one of the values that cuBLAS has.
std::int64_t packed(const Recipe& recipe);

// Nothing if it is no number that packed() of this table made.
std::optional<Recipe> unpacked(std::int64_t algo);

// Every recipe that can serve the problem with these options, whatever is forced in them; of splits
// those worth predicting, of orders of tiles the different ones, but no kernels that only show a
// technique. Equal predictions: in the order of the variants, then of operands,
// then narrow tiles, then few splits.
std::vector<Algo> algos(const Problem& problem, const DeviceFacts& facts,
                        std::span<const KernelConfig> variants, const SelectOptions& options);

// options.pick, judged: its variant is in `variants`.
Candidate picked(const Problem& problem, const DeviceFacts& usable,
                 std::span<const KernelConfig> variants, const SelectOptions& options);

// The variant with the forced name. Throws INVALID_VALUE if there is none.
int forced_variant(std::span<const KernelConfig> variants, std::string_view name);

// What somebody decided on: the pick, or else the forced kernel. Nothing where selection is free.
std::optional<Candidate> decided(const Problem& problem, const DeviceFacts& usable,
                                 std::span<const KernelConfig> variants,
                                 const SelectOptions& options);

}  // namespace bwgemm
