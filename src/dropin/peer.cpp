// SPDX-License-Identifier: Apache-2.0
#include "dropin/peer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace bwgemm::dropin {
namespace {

// Each level of a tree asks one question, whatever the answers above it were. The answers, the
// first one lowest, are the number of a leaf.
constexpr std::size_t tree_levels = 5;

#include "dropin/peer_trees.inc"

// Question i asks whether the feature asked_features[i] is larger than above[i]. Features are
// characters, counted from first_feature. Leaves are characters, counted from zero_leaf.
constexpr std::size_t leaves_per_tree = std::size_t{1} << tree_levels;
static_assert(above.size() % tree_levels == 0);
static_assert(sizeof asked_features == above.size() + 1);
static_assert(sizeof leaves == above.size() / tree_levels * leaves_per_tree + 1);

// The logarithm in steps, 64 for each factor of two. Of what lies between, it is a straight line.
std::int32_t steps(double value) {
  return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(value) >> 46) - 1023 * 64;
}

std::int32_t size(std::int64_t value) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(value, 1 << 30));
}

// What a kernel's name says, in words between underscores. Where the name has no tile, it is as if
// that had one row.
struct KernelWords {
  std::int32_t rows = 1, stages = 0, cluster_size = 1;
  std::int32_t family = 0;  // 0: none of those that are words of names
  bool swaps_ab = false, is_shifted = false, is_ping_pong = false;

  explicit KernelWords(std::string_view name) {
    while (!name.empty()) {
      const std::size_t end = std::min(name.find('_'), name.size());
      take(name.substr(0, end));
      name.remove_prefix(std::min(end + 1, name.size()));
    }
  }

 private:
  // The number that the text begins with; 0 where there is none.
  static std::int32_t number(std::string_view text) {
    std::int32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  void take(std::string_view word) {
    constexpr std::array<std::string_view, 4> families = {"stationary", "dot", "warp", "direct"};
    const auto found = std::ranges::find(families, word);
    const std::size_t by = word.find('x');
    if (found != families.end()) {
      family = static_cast<std::int32_t>(found - families.begin()) + 1;
    } else if (number(word) > 0 && by != std::string_view::npos) {
      const bool is_tile = word.find('x', by + 1) != std::string_view::npos;
      if (is_tile)
        rows = number(word);
      else
        cluster_size = number(word) * number(word.substr(by + 1));
    } else if (word.starts_with('s') && number(word.substr(1)) > 0) {
      stages = number(word.substr(1));
    }
    swaps_ab |= word == "t";
    is_shifted |= word == "u";
    is_ping_pong |= word == "pp";
  }
};

// Tiles of the size times splits, beside the multiprocessors of an H100.
struct Waves {
  double count;

  Waves(const PeerProblem& problem, std::int64_t tile_m, std::int64_t tile_n) {
    const auto tiles = [](std::int64_t size, std::int64_t tile) {
      return (size + tile - 1) / tile;
    };
    count = static_cast<double>(tiles(problem.m, tile_m) * tiles(problem.n, tile_n) *
                                problem.batch * problem.splits) /
            132;
  }
  // In percent, of the last wave and those before.
  std::int32_t use() const { return static_cast<std::int32_t>(100 * count / std::ceil(count)); }
};

}  // namespace

PeerFeatures features_of(const PeerProblem& problem) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const double m = number(problem.m), n = number(problem.n), k = number(problem.k);
  const double batch = number(problem.batch);
  const double flop = 2 * m * n * k * batch;
  const double bytes = 2 * batch * (m + n) * k + (problem.stores_f32 ? 4 : 2) * batch * m * n;
  const double us = problem.predicted_us;
  const KernelWords kernel(problem.kernel);
  const Waves upright(problem, kernel.rows, problem.tile_columns);
  const Waves across(problem, problem.tile_columns, kernel.rows);
  return {
      size(problem.m),
      size(problem.n),
      size(problem.k),
      size(problem.batch),
      size(std::min(problem.m, problem.n)),
      size(std::max(problem.m, problem.n)),
      steps(m / n),
      steps(m * n * batch),
      steps(flop),
      steps(bytes),
      steps(flop / bytes),
      steps(us),
      steps(flop / us),
      steps(bytes / us),
      size(problem.a_alignment),
      size(problem.b_alignment),
      size(problem.d_alignment),
      size(std::min(problem.a_alignment, problem.b_alignment)),
      problem.transa,
      problem.transb,
      problem.is_f16,
      problem.stores_f32,
      problem.reads_c,
      problem.adds_bias,
      problem.activation,
      problem.tile_columns,
      problem.splits,
      problem.copies_operands,
      size(problem.m % 64),
      size(problem.n % 64),
      kernel.rows,
      steps(upright.count),
      upright.use(),
      steps(across.count),
      across.use(),
      steps(m * n * batch / (number(kernel.rows) * problem.tile_columns)),
      size(problem.k % 64),
      kernel.family,
      kernel.swaps_ab,
      kernel.is_shifted,
      kernel.is_ping_pong,
      kernel.stages,
      kernel.cluster_size,
  };
}

int lead_of(const PeerFeatures& features) {
  int lead = 0;
  const char* tree = leaves;
  for (std::size_t first = 0; first < above.size(); first += tree_levels) {
    std::size_t leaf = 0;
    for (std::size_t level = 0; level < tree_levels; ++level) {
      const auto feature = static_cast<std::size_t>(asked_features[first + level] - first_feature);
      if (features[feature] > above[first + level]) leaf |= std::size_t{1} << level;
    }
    lead += tree[leaf] - zero_leaf;
    tree += leaves_per_tree;
  }
  return lead;
}

bool is_faster(const PeerFeatures& features) {
  return lead_of(features) >= least_lead;
}

}  // namespace bwgemm::dropin
