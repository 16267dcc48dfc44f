// SPDX-License-Identifier: Apache-2.0
#include "select/correction.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/tiling.h"
#include "families/registry.h"
#include "rules/arch_costs.h"
#include "rules/cost_terms.h"

namespace bwgemm {
namespace {

// Each level of a tree asks one question, whatever the answers above it were. The answers, the
// first one highest, are the number of a leaf.
constexpr std::size_t tree_levels = 6;
struct Question {
  int feature;
  int twice_above;  // the answer is yes if the feature is larger: two 16-bit numbers, side by side
};
struct Tree {
  std::array<Question, tree_levels> questions;
};

#include "select/correction_trees.inc"

// Each pair of the file's numbers is a question: a feature, and the number it is compared with.
constexpr std::size_t tree_numbers = 2 * tree_levels;
constexpr auto trees = [] {
  std::array<Tree, asked.size() / tree_numbers> all{};
  for (std::size_t i = 0; i < asked.size(); i += 2) {
    const int above = asked[i + 1];
    all[i / tree_numbers].questions[i % tree_numbers / 2] = {asked[i],
                                                             above << 16 | (above & 0xffff)};
  }
  return all;
}();

static_assert(sizeof leaves == trees.size() * (std::size_t{1} << tree_levels) + 1);

constexpr std::int16_t in_16_bits(std::int64_t value) {
  constexpr std::int64_t most = 32767;
  return static_cast<std::int16_t>(std::clamp(value, -most, most));
}

// The logarithm in steps, 64 for each factor of two. Of what lies between, it is a straight line.
std::int64_t log_steps(double value) {
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) >> 46) -
         std::int64_t{1023} * 64;
}
template <class Number>
std::int16_t steps(Number value) {
  return in_16_bits(log_steps(static_cast<double>(value)));
}

// The largest power of two, up to 128 bytes, that a row of so many elements is a multiple of.
std::int16_t row_alignment(std::int64_t elements, Dtype type) {
  const std::int64_t bytes = (elements * size_bytes(type)) | 128;
  return in_16_bits(bytes & -bytes);
}

constexpr std::int16_t sector_bytes = 32;

// The function of an epilogue, whether C is read, and whether a bias is added.
std::int16_t epilogue_kind(const Problem& problem) {
  const Epilogue& epilogue = problem.epilogue;
  const bool adds_bias = epilogue.row_bias.data != nullptr || epilogue.column_bias.data != nullptr;
  const bool is_cheap =
      epilogue.activation == Activation::relu || epilogue.activation == Activation::clamp;
  const int function = epilogue.activation == Activation::none ? 0 : is_cheap ? 1 : 2;
  return in_16_bits(4 * function + 2 * (problem.reads_c() ? 1 : 0) + (adds_bias ? 1 : 0));
}

std::int16_t permille(double share) {
  return in_16_bits(static_cast<std::int64_t>(1000 * share));
}

}  // namespace

bool is_corrected(const DeviceFacts& facts) {
  return facts.arch() == Arch::sm90 && facts.sm_count == nominal_h100.sm_count;
}

CorrectionFeatures correction_features_of(const Predicted& kernel, const DeviceFacts& facts,
                                          double least_us) {
  const auto& [seen, config, tile_n, splits, us] = kernel;
  const auto number = [](auto value) { return static_cast<double>(value); };
  const WithoutSplits known = without_splits(seen, config, tile_n);
  const TileCounts tiles = tile_counts(seen, config.tile.m, tile_n);
  const double units = number(tiles.total()) * splits;
  const double room = number(facts.sm_count) * config.ctas_per_sm;
  const double waves = units / room, whole_waves = std::ceil(waves);
  const double blocks = number(ceil_div(seen.k, std::int64_t{64})) / splits;
  const double m = number(seen.m), n = number(seen.n);
  const double products = m * n * number(seen.k) * number(seen.batch);
  const double rows = config.tile.m, columns = tile_n;
  const double delivered =
      (rows / config.cluster.n + columns / config.cluster.m) / (rows * columns);
  const double memory = memory_us(seen, facts, costs_of(config.arch));
  const double wave_us = us / whole_waves;
  const double block_flop = std::max(known.block.flop, 1.0);  // not every family tells
  return {
      // The kernel.
      in_16_bits(8 * static_cast<int>(config.family) + static_cast<int>(config.load)),
      in_16_bits(tile_n),
      in_16_bits(config.cluster.m),
      in_16_bits(config.cluster.n),
      in_16_bits(config.stages),
      in_16_bits(config.ctas_per_sm),
      config.swaps_ab,
      config.ping_pong,
      in_16_bits(4 * static_cast<int>(config.a) + static_cast<int>(config.b)),
      steps(1 / delivered),
      in_16_bits(std::int64_t{config.tile.m + tile_n} * config.stages * config.ctas_per_sm),
      steps(rows / columns),
      // How the problem is cut for it.
      in_16_bits(splits),
      steps(waves),
      permille(waves - std::floor(waves)),
      steps(whole_waves / waves),
      steps(blocks),
      steps(blocks / std::max(1, config.stages)),
      steps(tiles.m),
      steps(tiles.n),
      in_16_bits(static_cast<std::int64_t>(std::min(units, room))),
      permille(m / (number(tiles.m) * rows)),
      // The problem.
      steps(memory),
      steps(products),
      steps(std::max<std::int64_t>(seen.k, 1)),
      steps(seen.m),
      steps(seen.n),
      row_alignment(seen.k, seen.a.type),
      known.stores_whole_sectors ? sector_bytes
                                 : row_alignment(contiguous_extent(seen), seen.d.type),
      steps(output_bytes_per_element(seen)),
      facts.memory_bytes_per_us > 4e6,
      epilogue_kind(seen),
      // What the model says.
      steps(us),
      in_16_bits(log_steps(16 * us / least_us)),
      steps(us / memory),
      steps(us * units / products),
      steps(wave_us / blocks),
      permille(known.epilogue_us / wave_us),
      steps((known.epilogue_us + 0.001) / blocks),
      steps(known.block.l2_bytes / block_flop),
      steps(known.block.sm_bytes / block_flop),
  };
}

CorrectionFactors correction_factors(
    std::span<const CorrectionFeatures, most_corrected> of_kernels) {
  // Beside each other, so that one instruction answers a question for all kernels.
  constexpr std::size_t all_bytes = most_corrected * sizeof(std::int16_t);
  using All = std::int16_t __attribute__((vector_size(all_bytes)));
  using Pairs = int __attribute__((vector_size(all_bytes)));
  using Numbers = std::uint16_t __attribute__((vector_size(all_bytes)));
  std::array<All, correction_features> features;
  for (std::size_t feature = 0; feature < correction_features; ++feature)
    for (std::size_t kernel = 0; kernel < most_corrected; ++kernel)
      features[feature][kernel] = of_kernels[kernel][feature];
  std::array<int, most_corrected> sums{};
  const char* tree_leaves = leaves;
  for (const Tree& tree : trees) {
    Numbers leaf{};
    for (const Question& question : tree.questions) {
      const Pairs above = question.twice_above - Pairs{};
      const All& feature = features[static_cast<std::size_t>(question.feature)];
      const All answer = feature > std::bit_cast<All>(above);  // what is true is -1
      leaf = leaf + leaf - std::bit_cast<Numbers>(answer);
    }
    for (std::size_t kernel = 0; kernel < most_corrected; ++kernel)
      sums[kernel] += tree_leaves[leaf[kernel]];
    tree_leaves += std::size_t{1} << tree_levels;
  }
  constexpr int of_zeros = zero_leaf * static_cast<int>(trees.size());
  CorrectionFactors factors;
  for (std::size_t kernel = 0; kernel < most_corrected; ++kernel)
    factors[kernel] = std::exp((sums[kernel] - of_zeros) * leaf_step);
  return factors;
}

}  // namespace bwgemm
