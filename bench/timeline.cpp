// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <set>
#include <utility>

namespace bwgemm::bench {

namespace {

const char* name(TraceRole role) {
  switch (role) {
    case TraceRole::producer: return "producer";
    case TraceRole::loader: return "loader";
    case TraceRole::output: return "output";
    case TraceRole::consumer: return "consumer";
    case TraceRole::mma: return "mma";
    case TraceRole::epilogue: return "epilogue";
    case TraceRole::team: return "team";
  }
  return "?";
}

const char* name(TraceEvent event) {
  switch (event) {
    case TraceEvent::begin: return "start";
    case TraceEvent::tile: return "begin tile";
    case TraceEvent::wait_turn: return "wait for the other warpgroup";
    case TraceEvent::wait_empty: return "wait for a slot";
    case TraceEvent::issue: return "issue loads";
    case TraceEvent::wait_landed: return "wait for loads";
    case TraceEvent::move: return "move lines";
    case TraceEvent::wait_accumulator: return "wait for an accumulator";
    case TraceEvent::wait_full: return "wait for operands";
    case TraceEvent::multiply: return "multiply";
    case TraceEvent::stage: return "stage activations";
    case TraceEvent::wait_sums: return "wait for products";
    case TraceEvent::sum: return "add sums";
    case TraceEvent::epilogue: return "epilogue";
    case TraceEvent::wait_box: return "wait for the epilogue";
    case TraceEvent::store: return "store";
    case TraceEvent::finish: return "wait for the others";
    default: return "?";
  }
}

std::string track_name(const TraceTrack& track) {
  std::string text = std::string("CTA ").append(std::to_string(track.cta)).append(" ");
  text += name(track.role);
  const bool is_numbered = track.role == TraceRole::output || track.role == TraceRole::consumer ||
                           track.role == TraceRole::team;
  if (is_numbered)
    text += std::string(" ").append(std::to_string(track.track - first_trace_track(track.role)));
  return text;
}

// What a role does for a tile: up to its epilogue, and in that.
struct Tile {
  std::uint32_t number;
  double begin, epilogue, end;
};

std::vector<Tile> tiles_of(const TraceTrack& track) {
  std::vector<Tile> tiles;
  bool is_in_tile = false, is_in_epilogue = false;
  for (const TraceSpan& span : track.spans) {
    if (span.event == TraceEvent::tile) {
      tiles.push_back({span.index, span.begin, span.end, span.end});
      is_in_tile = true;
      is_in_epilogue = false;
    }
    if (span.event == TraceEvent::finish) is_in_tile = false;
    if (!is_in_tile) continue;
    is_in_epilogue = is_in_epilogue || span.event == TraceEvent::epilogue;
    if (!is_in_epilogue) tiles.back().epilogue = span.end;
    tiles.back().end = span.end;
  }
  return tiles;
}

class Json {
 public:
  void name_process(std::uint32_t process) {
    add("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"SM %u\"}}",
        process, process);
  }
  void name_thread(std::uint32_t process, int thread, const std::string& text) {
    add("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
        process, thread, text.c_str());
  }
  void span(std::uint32_t process, int thread, const char* text, std::int64_t index, double begin,
            double end) {
    add("{\"ph\":\"X\",\"name\":\"%s %lld\",\"pid\":%u,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}", text,
        static_cast<long long>(index), process, thread, begin * 1e-3, (end - begin) * 1e-3);
  }
  std::string take(const std::string& title) {
    return "{\"otherData\":{\"title\":\"" + title + "\"},\"displayTimeUnit\":\"ns\",\n" +
           "\"traceEvents\":[" + events_ + "\n]}\n";
  }

 private:
  template <class... Values>
  void add(const char* format, Values... values) {
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(), format, values...);
    events_ += events_.empty() ? "\n" : ",\n";
    events_ += text.data();
  }

  std::string events_;
};

// A track up to its end; what is behind that is of an earlier, longer launch.
std::span<const TraceStamp> last_launch(std::span<const TraceStamp> track) {
  std::size_t count = 0;
  while (count < track.size() && track[count].event != TraceEvent::none)
    if (track[count++].event == TraceEvent::end) break;
  return track.first(count);
}

}  // namespace

std::vector<TraceTrack> tracks_of(std::span<const TraceStamp> stamps, std::size_t per_track) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t at = 0; at + per_track <= stamps.size(); at += per_track)
    for (const TraceStamp& stamp : last_launch(stamps.subspan(at, per_track)))
      first = std::min(first, stamp.ns);
  std::vector<TraceTrack> tracks;
  for (std::size_t at = 0; at + per_track <= stamps.size(); at += per_track) {
    const std::span<const TraceStamp> mine = last_launch(stamps.subspan(at, per_track));
    if (mine.empty() || mine.front().event != TraceEvent::begin) continue;
    const std::size_t number = at / per_track;
    TraceTrack track{.cta = static_cast<int>(number / trace_tracks),
                     .track = static_cast<int>(number % trace_tracks),
                     .role = role_of_begin(mine.front().index),
                     .multiprocessor = multiprocessor_of_begin(mine.front().index),
                     .is_cut = mine.size() == per_track && mine.back().event != TraceEvent::end,
                     .spans = {}};
    const auto since_first = [&](const TraceStamp& stamp) {
      return static_cast<double>(stamp.ns - first);
    };
    for (std::size_t i = 0; i + 1 < mine.size(); ++i)
      track.spans.push_back(
          {mine[i].event, mine[i].index, since_first(mine[i]), since_first(mine[i + 1])});
    tracks.push_back(std::move(track));
  }
  return tracks;
}

TraceShares shares_of(std::span<const TraceTrack> tracks, double clocks, double mhz) {
  TraceShares shares;
  std::set<std::uint32_t> multiprocessors;
  double last = 0;
  for (const TraceTrack& track : tracks) {
    multiprocessors.insert(track.multiprocessor);
    shares.is_cut = shares.is_cut || track.is_cut;
    if (!track.spans.empty()) last = std::max(last, track.spans.back().end);
  }
  shares.span_us = last * 1e-3;
  shares.multiprocessors = static_cast<int>(multiprocessors.size());
  for (const TraceTrack& track : tracks) {
    if (track.spans.empty()) continue;
    RoleShares& role = shares.roles[track.role];
    ++role.tracks;
    role.start += track.spans.front().begin;
    role.tail += last - track.spans.back().end;
    for (const TraceSpan& span : track.spans) {
      const double time = span.end - span.begin;
      (span.event == TraceEvent::begin ? role.start : role.states[span.event]) += time;
      if (span.event == TraceEvent::multiply) ++shares.products;
    }
  }
  for (auto& [name, role] : shares.roles) {
    const double all = last * role.tracks;
    if (all == 0) continue;
    role.start /= all;
    role.tail /= all;
    for (auto& [event, share] : role.states) share /= all;
  }
  shares.uses_tensor_cores = clocks > 0;
  if (mhz > 0 && last > 0)
    shares.tensor_busy = static_cast<double>(shares.products) * clocks / mhz /
                         (shares.span_us * shares.multiprocessors);
  return shares;
}

std::string shares_text(const TraceShares& shares) {
  std::array<char, 128> text{};
  std::string all;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(text.data(), text.size(), format, values...);
    all += text.data();
  };
  add("%.2f us on %d SMs, %lld products of a stage\n", shares.span_us, shares.multiprocessors,
      static_cast<long long>(shares.products));
  for (const auto& [role, spent] : shares.roles) {
    add("%s: %.1f%% start, ", name(role), 100 * spent.start);
    for (const auto& [event, share] : spent.states) add("%.1f%% %s, ", 100 * share, name(event));
    add("%.1f%% done before the last\n", 100 * spent.tail);
  }
  if (!shares.uses_tensor_cores)
    all += "products not on tensor cores\n";
  else if (shares.tensor_busy > 0)
    add("tensor cores idle: %.1f%% of SMs x time\n", 100 * (1 - shares.tensor_busy));
  else
    all += "tensor cores idle: unknown without the SM clock\n";
  if (shares.is_cut) all += "the buffer was full before the kernel ended: take a smaller problem\n";
  return all;
}

std::string trace_json(std::span<const TraceTrack> tracks, const std::string& title, int detailed) {
  Json json;
  std::set<std::uint32_t> named;
  for (const TraceTrack& track : tracks) {
    const std::uint32_t process = track.multiprocessor;
    if (named.insert(process).second) json.name_process(process);
    const int thread = 2 * (track.cta * trace_tracks + track.track);
    if (const std::vector<Tile> tiles = tiles_of(track); !tiles.empty()) {
      json.name_thread(process, thread, track_name(track) + ": tiles");
      for (const Tile& tile : tiles) {
        // The epilogue's role waits before it.
        if (track.role != TraceRole::epilogue)
          json.span(process, thread, "tile", tile.number, tile.begin, tile.epilogue);
        if (tile.end > tile.epilogue)
          json.span(process, thread, "epilogue of tile", tile.number, tile.epilogue, tile.end);
      }
    }
    if (track.cta >= detailed) continue;
    json.name_thread(process, thread + 1, track_name(track));
    for (const TraceSpan& span : track.spans)
      json.span(process, thread + 1, name(span.event), span.index, span.begin, span.end);
  }
  return json.take(title);
}

}  // namespace bwgemm::bench
