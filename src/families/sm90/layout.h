// SPDX-License-Identifier: Apache-2.0
// Layout of the Hopper kernels: where operands and D lie in shared memory, how many registers
// threads have, and what a config may be. All is computed from the config, for host and device
// alike.
#pragma once

#include "core/kernel_config.h"
#include "device/layout.h"
#include "families/sm90/operand_tile.h"

namespace bwgemm::sm90 {

// Registers per thread: at launch all warpgroups of the CTA have the same, setmaxnreg then moves
// them to the consumers.
struct Registers {
  int at_launch, producer, consumer;

  // False: every thread has enough from the start.
  constexpr bool are_moved() const { return at_launch < consumer; }
};

// How the warpgroups of a CTA share its tile and its registers.
struct Warpgroups {
  int consumers;     // behind that of the producer, of which a warp stores for each: three at most
  int rows;          // of the tile, that a consumer computes
  int threads;       // of the CTA
  int accumulators;  // of one consumer thread
  Registers registers;
};
// A consumer computes 64 rows of the tile. It computes 128 where tile.m is 256, in ping-pong
// kernels with a tile.m of 128, and where CTAs with a tile.m of 128 share a multiprocessor: fewer
// threads then start with more registers (ptxas wants those of one wgmma to fit before any are
// moved). With swap-AB columns are staged in 64 rows, so that consumers compute 64 rows there, too.
constexpr Warpgroups warpgroups_of(const KernelConfig& config) {
  const bool saves_threads = config.tile.m == 128 && config.ctas_per_sm > 1 && !config.swaps_ab;
  const bool rows_of_128 = config.tile.m == 256 || saves_threads;
  Warpgroups all{};
  all.consumers = config.ping_pong ? 2 : config.tile.m / (rows_of_128 ? 128 : 64);
  all.rows = config.ping_pong ? config.tile.m : config.tile.m / all.consumers;
  all.threads = 128 * (1 + all.consumers);
  all.accumulators = all.rows * config.tile.n / 128;

  const int of_thread = 65536 / (all.threads * config.ctas_per_sm) / 8 * 8;
  const int at_launch = of_thread < 248 ? of_thread : 248;
  const int producer = config.load == Load::tma_shifted               ? 104  // it moves lines
                       : all.accumulators > 160                       ? 24
                       : config.ctas_per_sm > 1 || all.consumers == 3 ? 32
                                                                      : 40;
  const int of_all = at_launch * (1 + all.consumers);
  const int consumer = (of_all - producer) / all.consumers / 8 * 8;
  all.registers = {at_launch, producer, consumer < 240 ? consumer : 240};
  return all;
}

// A row of A that may start at any element (loose_rows.h), in one block of k: 128 bytes from any
// element on lie in so many units.
inline constexpr int loose_unit_bytes = 16, loose_row_units = 9;
inline constexpr int loose_row_bytes = loose_unit_bytes * loose_row_units;
// Elements from row to row. 32 bits hold the bytes between a warp's 16 rows, and two behind them.
inline constexpr int longest_loose_row = 1 << 25;

// A chunk of an operand that lies along m or n, which wgmma takes of 16-bit types only: 64 of m or
// n by 64 of k.
inline constexpr int chunk_bytes = 64 * swizzle_row_bytes;
inline constexpr int staging_rows = 64;  // one wgmma's height

constexpr int largest_divisor(int value, int most) {
  int divisor = value < most ? value : most;
  while (value % divisor != 0) --divisor;
  return divisor;
}

// A box is what one staging buffer holds: lines of D.
struct StagedBoxes {
  // Boxes do not divide the columns of the tile. The last box of each line then begins inside the
  // one before; where lines are columns, the last box of columns does. Overlapping boxes store
  // identical bytes, one behind the other.
  bool overlap;
  int line_bytes;
  int patch_columns;  // of the tile that a fused epilogue handles at a time
  int lines;          // rows of the tile, or columns
  int count;          // of a warpgroup's part of the tile, of a 16-bit type
};
constexpr StagedBoxes staged_boxes(const KernelConfig& config) {
  StagedBoxes boxes{};
  const Warpgroups groups = warpgroups_of(config);
  boxes.overlap = config.swaps_ab ? config.tile.n % 16 != 0
                                  : stores_rows_by_tma(config) && config.tile.n % 32 != 0;
  // 128 bytes, or half where rows of the tile are made of such lines in every type and not of those
  // of 128 bytes, and where the buffers of three warpgroups would cost a stage.
  const bool has_whole_lines = config.tile.n % 64 == 0 || boxes.overlap;
  const bool is_whole = config.swaps_ab || (has_whole_lines && groups.consumers < 3);
  boxes.line_bytes = is_whole ? swizzle_row_bytes : swizzle_row_bytes / 2;
  // No more than a box of f32, nor than a thread has registers for. Columns are staged 16 at a time
  // where 32 do not divide the tile and boxes do not overlap, and by three warpgroups, which were
  // timed so.
  const bool needs_short_boxes = config.tile.n % 32 != 0 && !boxes.overlap;
  const bool is_short = config.swaps_ab ? needs_short_boxes || groups.consumers == 3
                                        : !is_whole || groups.accumulators > 160;
  const int most_columns = is_short ? 16 : 32;
  boxes.patch_columns = config.tile.n < most_columns ? config.tile.n : most_columns;
  // 64 rows, or an equal part of the columns, in whole patches. Boxes that overlap need not be
  // equal parts.
  const bool has_few_lines = config.swaps_ab && (is_short || boxes.overlap);
  boxes.lines = has_few_lines ? most_columns : staging_rows;
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): tiles have columns
  const auto divides = [&] {
    return config.tile.n % boxes.lines == 0 && boxes.lines % boxes.patch_columns == 0;
  };
  const bool must_divide = config.swaps_ab && !boxes.overlap;
  while (must_divide && boxes.lines > 8 && !divides()) boxes.lines -= 8;
  const int line_elements = boxes.line_bytes / 2;
  const int of_64_rows = config.swaps_ab ? (config.tile.n + boxes.lines - 1) / boxes.lines
                                         : (config.tile.n + line_elements - 1) / line_elements;
  boxes.count = groups.rows / staging_rows * of_64_rows;
  return boxes;
}

// Shared memory of the operands of one k block.
constexpr int a_bytes(const KernelConfig& config) {
  return config.tile.m * (has_loose_rows(config) ? loose_row_bytes : swizzle_row_bytes);
}
constexpr int b_bytes(const KernelConfig& config) {
  return operand_rows(config.b, config.tile.n) * swizzle_row_bytes;
}

// How many columns the biases of a tile take in shared memory: threads read those of 16 at once.
constexpr int bias_columns(const KernelConfig& config) {
  return (config.tile.n + 15) / 16 * 16;
}

// Offsets in bytes from the 1024-aligned start of dynamic shared memory.
struct Layout {
  int a_bytes, b_bytes, stage_bytes;   // stage s: A at s * stage_bytes, B a_bytes behind it
  int staging;                         // [warpgroup][buffer]
  int staging_bytes;                   // of one buffer
  int full, empty;                     // mbarriers, one per stage
  int staging_ready, staging_written;  // mbarriers [warpgroup][buffer]
  int staging_messages;                // 4 bytes [warpgroup][buffer], where k is split
  int may_send;                        // mbarrier, where splits of k are a cluster
  int received;                        // mbarriers [warpgroup], likewise
  int landed;                          // mbarriers, one per stage; tma_shifted only
  int biases, bias_bytes;              // f32 [warpgroup][columns, then rows]; of a warpgroup; or 0
  int staging_depth;                   // buffers of a warpgroup
  int bytes;
};

// Shared memory of one of ctas_per_sm CTAs.
constexpr int smem_room(const KernelConfig& config) {
  return sm_smem_bytes / config.ctas_per_sm / 8 * 8 - reserved_smem_bytes;
}

constexpr Layout layout(const KernelConfig& config, int staging_depth) {
  const Warpgroups warpgroups = warpgroups_of(config);
  const int buffers = warpgroups.consumers * staging_depth;
  const StagedBoxes boxes = staged_boxes(config);
  Layout at{};
  at.staging_depth = staging_depth;
  at.a_bytes = a_bytes(config);
  at.b_bytes = b_bytes(config);
  at.stage_bytes = at.a_bytes + at.b_bytes;
  at.staging = config.stages * at.stage_bytes;
  at.staging_bytes = boxes.lines * boxes.line_bytes;
  at.full = at.staging + buffers * at.staging_bytes;
  at.empty = at.full + 8 * config.stages;
  at.staging_ready = at.empty + 8 * config.stages;
  at.staging_written = at.staging_ready + 8 * buffers;
  at.staging_messages = at.staging_written + 8 * buffers;
  at.may_send = (at.staging_messages + 4 * buffers + 7) / 8 * 8;
  at.received = at.may_send + 8;
  at.landed = at.received + 8 * warpgroups.consumers;
  const int end = at.landed + (config.load == Load::tma_shifted ? 8 * config.stages : 0);
  at.biases = (end + 15) / 16 * 16;
  const bool keeps_biases = config.store != Store::elements;
  at.bias_bytes = keeps_biases ? 4 * (bias_columns(config) + warpgroups.rows) : 0;
  at.bytes = keeps_biases ? at.biases + warpgroups.consumers * at.bias_bytes : end;
  return at;
}

// Staging buffers of one consumer warpgroup: two, and more where the ring leaves room for them, so
// that the next products need not wait until stores have left. Where many CTAs share a
// multiprocessor, the others work while one waits.
constexpr Layout layout(const KernelConfig& config) {
  if (config.ctas_per_sm > 2) return layout(config, 1);
  int depth = staging_buffers;
  if (config.store == Store::elements) return layout(config, depth);
  while (depth < staged_boxes(config).count && layout(config, depth + 1).bytes <= smem_room(config))
    ++depth;
  return layout(config, depth);
}

}  // namespace bwgemm::sm90
