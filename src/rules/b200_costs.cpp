// SPDX-License-Identifier: Apache-2.0
// The constants of the cost model for Blackwell.
#include "rules/arch_costs.h"

namespace bwgemm {

// clang-format off
// Nothing here was measured. What has no remark was fitted 2026-11-22 to times of 70 problems that the
// virtual B200 predicts (tests/vgpu/timing, bench/log/2026-11-22.md): sums for what is within a third of the best
// were 6 % off in the median then. What is H200's was taken over.
const ArchCosts b200_costs = {
    .launch_us = 1.98,
    .cluster_us = 0.34,
    .memory_bytes_per_us = 7.0e6,      // data sheet 7.67 TB/s, less what H200 loses of its own
    .unhidden = 0.414,                 // sqrt(2) - 1: when fitted, the legs of a right angle
    .fill_us = 0.6,
    .partial_block = 0,                // not known
    .sm_flop_per_us = 0,               // not used
    .powered_flop_per_us = 0,          // unknown: in mma_clocks_per_us
    .powered_bytes_per_us = 0,         // unknown
    .mma_clocks_per_us = 1520,
    .sm_bytes_per_us = 166e3,
    .straddling_sectors = h200_costs.straddling_lines,
    .straddling_lines = h200_costs.straddling_lines,
    .chip_bytes_per_us = 23e6,         // 21.3 fitted; more where rows straddle lines
    .distant_rows = 1,                 // not known
    .first_lines_us = 0,               // not used
    .block_slowdown = 1,               // not used, as the next three
    .row_slowdown = 0,
    .cluster_slowdown = 1,
    .sharing_slowdown = 1,
    .block_floor_us = 0.06,
    .epilogue_bytes_per_us = 45e3,
    .epilogue_box_us = 0,            // not told apart
    .register_bytes_per_us = 1,        // not used, as the next three
    .lines_per_us = 1,
    .lines_of_columns = 1,
    .ping_pong_overlap = 1,
    .curved_values_per_us = 1,         // not used
    .exposed_epilogue = 0,             // not used: pairs hide theirs
    .merge_us = 1.44,
    .merge_split_us = 0.167,
    .merge_bytes_per_us = 196e3,
    .partials_bytes_per_us = 5.8e6,
    .cluster_merge_us = 0,             // not used, as the next
    .register_stores_us = 0,
    .cluster_bytes_per_us = 1,         // not used
    .direct_wide = h200_costs.direct_wide,
    .direct_pairs = h200_costs.direct_pairs,
    .direct_narrow = h200_costs.direct_narrow,
    .direct_tile_us = h200_costs.direct_tile_us,
    .direct_fused_us = h200_costs.direct_fused_us,
    .direct_merge_us = h200_costs.direct_merge_us,
    .warp_pairs = h200_costs.warp_pairs,
    .warp_elements = h200_costs.warp_elements,
    .warp_unit_us = h200_costs.warp_unit_us,
    .warp_fused_us = h200_costs.warp_fused_us,
    .stationary_units = h200_costs.stationary_units,
    .stationary_threads = h200_costs.stationary_threads,
    .stationary_wait_us = h200_costs.stationary_wait_us,
    .stationary_slab_us = h200_costs.stationary_slab_us,
    .stationary_tile_us = h200_costs.stationary_tile_us,
    .stationary_elements_us = h200_costs.stationary_elements_us,
    .stationary_fused_us = h200_costs.stationary_fused_us,
    .stationary_fused_tile_us = h200_costs.stationary_fused_tile_us,
    .stationary_fused_loose_us = h200_costs.stationary_fused_loose_us,
    .unmapped_launch_us = 1.24,        // less than launch_us, as on H200
    .dot_bytes_per_us = 7.0e6,         // as memory_bytes_per_us
    .dot_cta_bytes_per_us = h200_costs.dot_cta_bytes_per_us,
    .dot_output_us = h200_costs.dot_output_us,
    .dot_staging_us = h200_costs.dot_staging_us,
    .vector_launch_us = 0,             // not used, as all of vectors: no such kernel
    .vector_spread_us = 0,
    .vector_unit_us = 0,
    .vector_column_us = 0,
    .vector_cta_bytes_per_us = 1,
    .loose_vectors = 1,
    .vector_merge_us = 0,
    .copying_launch_us = h200_costs.copying_launch_us,
    .copied_bytes_per_us = 7.7e6,      // as much more than memory_bytes_per_us as on H200
    .sm_copied_bytes_per_us = h200_costs.sm_copied_bytes_per_us,
};
// clang-format on

}  // namespace bwgemm
