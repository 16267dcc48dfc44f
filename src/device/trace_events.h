// SPDX-License-Identifier: Apache-2.0
// What a traced kernel (trace.h) writes and the benchmark reads: stamps, in one track for each role
// of each CTA. A stamp begins a state of its role, which lasts until the track's next stamp.
#pragma once

#include <cstdint>

#include "device/residues.h"

namespace bwgemm {

enum class TraceRole : std::uint32_t {
  producer,
  loader,    // where operands may start anywhere, beside or instead of the producer
  output,    // one for each consumer
  consumer,  // multiplies and has the epilogue: a warpgroup
  mma,       // only multiplies
  epilogue,  // of what the mma role multiplied
  team,      // loads, multiplies and stores: the CTA, or a warp
};

enum class TraceEvent : std::uint32_t {
  none,              // the track ends before this one
  begin,             // index: trace_begin()
  tile,              // where a tile, or a split of its k, begins; index: its number
  wait_turn,         // consumer: for the other one's products
  wait_empty,        // producer, loader: for a slot; index: k block
  issue,             // loads; index: k block
  wait_landed,       // producer: for what TMA brings; index: k block
  move,              // producer, loader: lines to their places; index: k block
  wait_accumulator,  // mma: for one that the epilogue has read
  wait_full,         // for operands; index: k block, round or slab
  multiply,          // index: the same
  stage,             // team: activations to shared memory; index: round
  wait_sums,         // epilogue: for products
  sum,               // team: adds what warps, and splits of k, have
  epilogue,
  wait_box,  // output: for the epilogue
  store,     // output
  finish,    // for the others to be done
  end,
};

struct alignas(16) TraceStamp {
  std::uint64_t ns;  // %globaltimer
  TraceEvent event;
  std::uint32_t index;
};

// The index of TraceEvent::begin.
constexpr std::uint32_t trace_begin(TraceRole role, std::uint32_t multiprocessor) {
  return static_cast<std::uint32_t>(role) << 16 | multiprocessor;
}
constexpr TraceRole role_of_begin(std::uint32_t index) {
  return static_cast<TraceRole>(index >> 16);
}
constexpr std::uint32_t multiprocessor_of_begin(std::uint32_t index) {
  return index & 0xffff;
}

// Tracks of a CTA. Roles of one kernel have different ones.
inline constexpr int trace_tracks = 8;
constexpr int first_trace_track(TraceRole role) {
  switch (role) {
    case TraceRole::output: return 1;  // + its number, as that of consumers and teams
    case TraceRole::consumer:
    case TraceRole::mma: return 4;
    case TraceRole::epilogue: return 5;
    case TraceRole::loader: return 6;
    default: return 0;  // the producer, and teams
  }
}

struct TraceBuffer {
  TraceStamp* stamps;  // [CTA][track][stamps_per_track], zeroed before the launch
  std::uint32_t stamps_per_track;
};

// What a traced kernel takes instead of KernelParams or ResidueParams.
struct TracedParams : ResidueParams {
  alignas(64) TraceBuffer trace;  // not in padding of the base
};
static_assert(sizeof(TracedParams) <= 4096);

}  // namespace bwgemm
