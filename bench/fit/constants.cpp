// SPDX-License-Identifier: Apache-2.0
#include "constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "families/variants.h"
#include "rules/arch_costs.h"

namespace bwgemm::bench {

namespace {

struct Entry {
  const char* name;
  double* value;
  double width;
};

// Narrow where a constant is a rate of the chip, or where many times depend on it. Not here is what
// few sweeps or none tell: copies and loose vectors.
ArchCosts& costs = h200_costs;
const Entry entries[] = {
    {"launch_us", &costs.launch_us, 0.1},
    {"hidden_us", &costs.hidden_us, 0.5},
    {"cluster_us", &costs.cluster_us, 0.5},
    {"memory_bytes_per_us", &costs.memory_bytes_per_us, 0.05},
    {"unhidden", &costs.unhidden, 0.2},
    {"fill_us", &costs.fill_us, 0.3},
    {"partial_block", &costs.partial_block, 0.3},
    {"sm_flop_per_us", &costs.sm_flop_per_us, 0.1},
    {"powered_flop_per_us", &costs.powered_flop_per_us, 0.2},
    {"powered_bytes_per_us", &costs.powered_bytes_per_us, 0.2},
    {"sm_bytes_per_us", &costs.sm_bytes_per_us, 0.1},
    {"unused_parts_of_lines", &costs.unused_parts_of_lines, 0.3},
    {"sm_straddling_sectors", &costs.sm_straddling_sectors, 0.1},
    {"sm_straddling_lines", &costs.sm_straddling_lines, 0.15},
    {"l2_straddling_sectors", &costs.l2_straddling_sectors, 0.1},
    {"l2_straddling_lines", &costs.l2_straddling_lines, 0.15},
    {"drift_us", &costs.drift_us, 0.3},
    {"chip_bytes_per_us", &costs.chip_bytes_per_us, 0.1},
    {"unshared_bytes_per_us", &costs.unshared_bytes_per_us, 0.2},
    {"line_request_us", &costs.line_request_us, 0.5},
    {"first_lines_us", &costs.first_lines_us, 0.5},
    {"block_floor_us", &costs.block_floor_us, 0.2},
    {"epilogue_bytes_per_us", &costs.epilogue_bytes_per_us, 0.2},
    {"epilogue_box_us", &costs.epilogue_box_us, 0.5},
    {"staging_wait_us", &costs.staging_wait_us, 0.5},
    {"register_bytes_per_us", &costs.register_bytes_per_us, 0.3},
    {"lines_per_us", &costs.lines_per_us, 0.3},
    {"crowded_lines_per_us", &costs.crowded_lines_per_us, 0.3},
    {"lines_of_columns", &costs.lines_of_columns, 0.3},
    {"lines_of_a_box", &costs.lines_of_a_box, 0.3},
    {"one_tile_ping_pong", &costs.one_tile_ping_pong, 0.2},
    {"wide_one_tile_ping_pong", &costs.wide_one_tile_ping_pong, 0.2},
    {"ping_pong_overlap", &costs.ping_pong_overlap, 0.2},
    {"later_ping_pong", &costs.later_ping_pong, 0.3},
    {"curved_values_per_us", &costs.curved_values_per_us, 0.3},
    {"exposed_epilogue", &costs.exposed_epilogue, 0.2},
    {"loose_rows_per_us", &costs.loose_rows_per_us, 0.3},
    {"torn_sector_bytes", &costs.torn_sector_bytes, 0.3},
    {"merge_us", &costs.merge_us, 0.2},
    {"merge_split_us", &costs.merge_split_us, 0.3},
    {"merge_bytes_per_us", &costs.merge_bytes_per_us, 0.3},
    {"partials_bytes_per_us", &costs.partials_bytes_per_us, 0.3},
    {"cluster_merge_us", &costs.cluster_merge_us, 0.3},
    {"register_stores_us", &costs.register_stores_us, 0.5},
    {"cluster_bytes_per_us", &costs.cluster_bytes_per_us, 0.3},
    {"direct_wide.latency_us", &costs.direct_wide.latency_us, 0.2},
    {"direct_wide.us", &costs.direct_wide.us, 0.2},
    {"direct_pairs.latency_us", &costs.direct_pairs.latency_us, 0.3},
    {"direct_pairs.us", &costs.direct_pairs.us, 0.3},
    {"direct_narrow.latency_us", &costs.direct_narrow.latency_us, 0.2},
    {"direct_narrow.us", &costs.direct_narrow.us, 0.2},
    {"direct_tile_us", &costs.direct_tile_us, 0.2},
    {"direct_merge_us", &costs.direct_merge_us, 0.3},
    {"warp_pairs.latency_us", &costs.warp_pairs.latency_us, 0.3},
    {"warp_pairs.us", &costs.warp_pairs.us, 0.3},
    {"warp_elements.latency_us", &costs.warp_elements.latency_us, 0.3},
    {"warp_elements.us", &costs.warp_elements.us, 0.3},
    {"warp_unit_us", &costs.warp_unit_us, 0.3},
    {"warp_fused_us", &costs.warp_fused_us, 0.3},
    {"unmapped_launch_us", &costs.unmapped_launch_us, 0.1},
    {"dot_bytes_per_us", &costs.dot_bytes_per_us, 0.1},
    {"dot_cta_bytes_per_us", &costs.dot_cta_bytes_per_us, 0.2},
    {"dot_output_us", &costs.dot_output_us, 0.3},
    {"dot_staging_us", &costs.dot_staging_us, 0.3},
    {"dot_lines_per_us", &costs.dot_lines_per_us, 0.3},
    {"vector_launch_us", &costs.vector_launch_us, 0.1},
    {"vector_spread_us", &costs.vector_spread_us, 0.3},
    {"vector_unit_us", &costs.vector_unit_us, 0.3},
    {"vector_column_us", &costs.vector_column_us, 0.3},
    {"vector_cta_bytes_per_us", &costs.vector_cta_bytes_per_us, 0.2},
    {"vector_merge_us", &costs.vector_merge_us, 0.3},
};

constexpr double slowdown_width = 0.08;

std::array<double, sm90_shapes.size()> slowdowns = [] {
  std::array<double, sm90_shapes.size()> given{};
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = sm90_shapes[i].slowdown;
  return given;
}();

std::string path_name(const Paths& of) {
  return of == paths::tma       ? "tma"
         : of == paths::swap_ab ? "swap_ab"
         : of == paths::loose_a ? "loose_a"
                                : "shifted";
}

// As a row of sm90_shapes begins.
std::string name(const Sm90Shape& shape) {
  const auto numbers = [](int first, int second) {
    return std::to_string(first) + "x" + std::to_string(second);
  };
  return "slowdown." + path_name(shape.paths) + "." + numbers(shape.tile.m, shape.tile.n) +
         ".cluster" + numbers(shape.cluster.m, shape.cluster.n) + ".ctas" +
         std::to_string(shape.ctas_per_sm) + (shape.ping_pong ? ".ping_pong" : "");
}

}  // namespace

double Constant::moved() const {
  return std::log(*value / start) / width;
}

const double* fitted_slowdown(const KernelConfig& config) {
  if (config.family != Family::cooperative) return nullptr;
  for (std::size_t i = 0; i < slowdowns.size(); ++i)
    for (const std::string_view pair : pairs_of_majors)
      if (sm90_variant(sm90_shapes[i], pair) == config) return &slowdowns[i];
  return nullptr;
}

std::vector<Constant> fitted_constants() {
  std::vector<Constant> all;
  for (const Entry& entry : entries)
    all.push_back({entry.name, entry.value, entry.width, *entry.value});
  for (std::size_t i = 0; i < slowdowns.size(); ++i)
    if (slowdowns[i] != 1)  // 1 stays: a fit of it would gain nothing
      all.push_back({name(sm90_shapes[i]), &slowdowns[i], slowdown_width, slowdowns[i]});
  return all;
}

void start_from(std::vector<Constant>& constants, const std::string& path) {
  const auto fail = [&](const std::string& why) { throw std::runtime_error(path + ": " + why); };
  std::ifstream file(path);
  if (!file) fail("cannot open it");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string name;
    double value = 0;
    if (!(words >> name >> value) || value <= 0) fail("not a name and a value above 0: " + line);
    const auto found = std::find_if(constants.begin(), constants.end(),
                                    [&](const Constant& one) { return one.name == name; });
    if (found == constants.end()) fail("no such constant: " + name);
    *found->value = found->start = value;
  }
}

}  // namespace bwgemm::bench
