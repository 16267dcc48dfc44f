// SPDX-License-Identifier: Apache-2.0
// What a traced kernel (trace.h) writes and the benchmark reads: stamps, in one track for each role
// of each CTA. A stamp begins a state of its role, which lasts until the track's next stamp.
#pragma once

#include <cstdint>

#include "kernels/params.h"

namespace bwgemm {

enum class TraceEvent : std::uint32_t {
  none,        // the track ends before this one
  begin,       // index: the multiprocessor
  wait_empty,  // producer: for a slot; index: k block
  issue,       // producer: loads; index: k block
  wait_full,   // consumer: for a slot's operands; index: k block
  multiply,    // consumer: index: k block
  epilogue,    // consumer
  wait_slice,  // output: for the epilogue
  store,       // output
  end,
};

struct alignas(16) TraceStamp {
  std::uint64_t ns;  // %globaltimer
  TraceEvent event;
  std::uint32_t index;
};

// Tracks of a CTA.
inline constexpr int trace_producer = 0;
inline constexpr int trace_output = 1;    // + warpgroup
inline constexpr int trace_consumer = 4;  // + warpgroup
inline constexpr int trace_tracks = 8;

struct TraceBuffer {
  TraceStamp* stamps;  // [CTA][track][stamps_per_track], zeroed before the launch
  std::uint32_t stamps_per_track;
};

// What a traced kernel takes instead of KernelParams.
struct TracedParams : KernelParams {
  alignas(64) TraceBuffer trace;  // not in padding of the base
};

}  // namespace bwgemm
