// SPDX-License-Identifier: Apache-2.0
// What a traced kernel (traced.h) writes and the benchmark reads: stamps, in one track for each
// role of each CTA. A stamp begins a state of its role, which lasts until the track's next stamp.
#pragma once

#include <cstdint>

#include "device/residues.h"
#include "device/trace_events.h"

namespace bwgemm {

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
