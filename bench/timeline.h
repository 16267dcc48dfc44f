// SPDX-License-Identifier: Apache-2.0
// Timeline: the stamps of a traced kernel as spans, as shares of time, and as a trace file for
// Perfetto or chrome://tracing. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/trace_stamps.h"

namespace bwgemm::bench {

// A state of one role, in nanoseconds since the first stamp of all.
struct TraceSpan {
  TraceEvent event;
  std::uint32_t index;
  double begin, end;
};

struct TraceTrack {
  int cta, track;
  TraceRole role;
  std::uint32_t multiprocessor;
  bool is_cut = false;  // the buffer was full before the role ended
  std::vector<TraceSpan> spans;
};

// stamps: [CTA][trace_tracks][per_track]; tracks without stamps are left out.
std::vector<TraceTrack> tracks_of(std::span<const TraceStamp> stamps, std::size_t per_track);

// How a role spends the time, as shares of it: in the mean of its tracks.
struct RoleShares {
  int tracks = 0;
  double start = 0;  // before its first tile
  double tail = 0;   // after its last stamp
  std::map<TraceEvent, double> states;
};

struct TraceShares {
  double span_us = 0;  // from the first stamp to the last
  int multiprocessors = 0;
  std::map<TraceRole, RoleShares> roles;
  std::int64_t products = 0;       // stamps of TraceEvent::multiply, one of a stage
  bool uses_tensor_cores = false;  // for the products
  // What the tensor cores would need for them at their peak; 0 if the clock is unknown.
  double tensor_busy = 0;
  bool is_cut = false;
};

// clocks: of one product at the tensor cores' peak, summed over the multiprocessors that share it;
// 0 if it is not theirs. mhz: 0 if unknown.
TraceShares shares_of(std::span<const TraceTrack> tracks, double clocks, double mhz);
std::string shares_text(const TraceShares& shares);

// Every tile of every multiprocessor; k blocks for the first `detailed` CTAs.
std::string trace_json(std::span<const TraceTrack> tracks, const std::string& title, int detailed);

}  // namespace bwgemm::bench
