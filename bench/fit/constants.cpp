// SPDX-License-Identifier: Apache-2.0
#include "constants.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

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
    {"cluster_us", &costs.cluster_us, 0.5},
    {"memory_bytes_per_us", &costs.memory_bytes_per_us, 0.05},
    {"unhidden", &costs.unhidden, 0.2},
    {"fill_us", &costs.fill_us, 0.3},
    {"partial_block", &costs.partial_block, 0.3},
    {"sm_flop_per_us", &costs.sm_flop_per_us, 0.1},
    {"powered_flop_per_us", &costs.powered_flop_per_us, 0.2},
    {"powered_bytes_per_us", &costs.powered_bytes_per_us, 0.2},
    {"sm_bytes_per_us", &costs.sm_bytes_per_us, 0.1},
    {"straddling_sectors", &costs.straddling_sectors, 0.1},
    {"straddling_lines", &costs.straddling_lines, 0.15},
    {"chip_bytes_per_us", &costs.chip_bytes_per_us, 0.1},
    {"first_lines_us", &costs.first_lines_us, 0.5},
    {"block_slowdown", &costs.block_slowdown, 0.08},
    {"row_slowdown", &costs.row_slowdown, 0.3},
    {"cluster_slowdown", &costs.cluster_slowdown, 0.08},
    {"sharing_slowdown", &costs.sharing_slowdown, 0.08},
    {"block_floor_us", &costs.block_floor_us, 0.2},
    {"epilogue_bytes_per_us", &costs.epilogue_bytes_per_us, 0.2},
    {"epilogue_box_us", &costs.epilogue_box_us, 0.5},
    {"staging_wait_us", &costs.staging_wait_us, 0.5},
    {"register_bytes_per_us", &costs.register_bytes_per_us, 0.3},
    {"lines_per_us", &costs.lines_per_us, 0.3},
    {"lines_of_columns", &costs.lines_of_columns, 0.3},
    {"lines_of_a_box", &costs.lines_of_a_box, 0.3},
    {"piece_bytes_per_us", &costs.piece_bytes_per_us, 0.3},
    {"piece_us", &costs.piece_us, 0.3},
    {"staged_line_bytes_per_us", &costs.staged_line_bytes_per_us, 0.3},
    {"ping_pong_overlap", &costs.ping_pong_overlap, 0.2},
    {"curved_values_per_us", &costs.curved_values_per_us, 0.3},
    {"exposed_epilogue", &costs.exposed_epilogue, 0.2},
    {"loose_rows_per_us", &costs.loose_rows_per_us, 0.3},
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
    {"direct_fused_us", &costs.direct_fused_us, 0.5},
    {"direct_merge_us", &costs.direct_merge_us, 0.3},
    {"stationary_units.latency_us", &costs.stationary_units.latency_us, 0.2},
    {"stationary_units.us", &costs.stationary_units.us, 0.2},
    {"stationary_threads.latency_us", &costs.stationary_threads.latency_us, 0.2},
    {"stationary_threads.us", &costs.stationary_threads.us, 0.2},
    {"stationary_wait_us", &costs.stationary_wait_us, 0.3},
    {"stationary_slab_us", &costs.stationary_slab_us, 0.3},
    {"stationary_tile_us", &costs.stationary_tile_us, 0.2},
    {"stationary_elements_us", &costs.stationary_elements_us, 0.2},
    {"stationary_fused_us", &costs.stationary_fused_us, 0.3},
    {"stationary_fused_tile_us", &costs.stationary_fused_tile_us, 0.3},
    {"stationary_fused_loose_us", &costs.stationary_fused_loose_us, 0.3},
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
    {"vector_launch_us", &costs.vector_launch_us, 0.1},
    {"vector_spread_us", &costs.vector_spread_us, 0.3},
    {"vector_unit_us", &costs.vector_unit_us, 0.3},
    {"vector_column_us", &costs.vector_column_us, 0.3},
    {"vector_cta_bytes_per_us", &costs.vector_cta_bytes_per_us, 0.2},
    {"vector_merge_us", &costs.vector_merge_us, 0.3},
};

}  // namespace

double Constant::moved() const {
  return std::log(*value / start) / width;
}

std::vector<Constant> fitted_constants() {
  std::vector<Constant> all;
  for (const Entry& entry : entries)
    all.push_back({entry.name, entry.value, entry.width, *entry.value});
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
