// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace bwgemm::bench {

namespace {

bool is_consumer(const TraceTrack& track) {
  return track.track >= trace_consumer;
}

const char* name(TraceEvent event) {
  switch (event) {
    case TraceEvent::begin: return "start";
    case TraceEvent::wait_empty: return "wait for a slot";
    case TraceEvent::issue: return "issue loads";
    case TraceEvent::wait_full: return "wait for operands";
    case TraceEvent::multiply: return "multiply";
    case TraceEvent::epilogue: return "epilogue";
    case TraceEvent::wait_slice: return "wait for the epilogue";
    case TraceEvent::store: return "store";
    default: return "?";
  }
}

std::string track_name(const TraceTrack& track) {
  const std::string cta = std::string("CTA ").append(std::to_string(track.cta)).append(" ");
  if (track.track == trace_producer) return cta + "producer";
  const bool consumer = is_consumer(track);
  return cta + (consumer ? "consumer " : "output ") +
         std::to_string(track.track - (consumer ? trace_consumer : trace_output));
}

// A consumer's tiles: the spans of products up to an epilogue, and the epilogue.
struct Tile {
  double begin, multiplied, end;
};

std::vector<Tile> tiles_of(const TraceTrack& track) {
  std::vector<Tile> tiles;
  bool is_open = false;
  for (const TraceSpan& span : track.spans) {
    if (span.event == TraceEvent::begin) continue;
    if (!is_open) tiles.push_back({span.begin, span.end, span.end});
    is_open = span.event != TraceEvent::epilogue;
    if (is_open) tiles.back().multiplied = span.end;
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
                     .multiprocessor = mine.front().index,
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
  int consumers = 0;
  std::set<int> counted;  // CTAs: each product is one of all its consumers
  for (const TraceTrack& track : tracks) {
    if (!is_consumer(track) || track.spans.empty()) continue;
    ++consumers;
    const bool counts = counted.insert(track.cta).second;
    shares.start += track.spans.front().begin;
    shares.tail += last - track.spans.back().end;
    for (const TraceSpan& span : track.spans) {
      const double time = span.end - span.begin;
      switch (span.event) {
        case TraceEvent::wait_full: shares.waiting += time; break;
        case TraceEvent::multiply: shares.multiplying += time; break;
        case TraceEvent::epilogue: shares.epilogue += time; break;
        default: shares.start += time;
      }
      if (counts && span.event == TraceEvent::multiply) ++shares.products;
    }
  }
  const double all = last * consumers;
  if (all > 0)
    for (double* share :
         {&shares.start, &shares.waiting, &shares.multiplying, &shares.epilogue, &shares.tail})
      *share /= all;
  if (mhz > 0 && last > 0)
    shares.tensor_busy = static_cast<double>(shares.products) * clocks / mhz /
                         (shares.span_us * shares.multiprocessors);
  return shares;
}

std::string shares_text(const TraceShares& shares) {
  std::array<char, 512> text{};
  std::snprintf(
      text.data(), text.size(),
      "%.2f us on %d SMs, %lld products of a stage\nconsumers: %.1f%% before their first wait, "
      "%.1f%% wait for operands, %.1f%% multiply, %.1f%% epilogue, %.1f%% done before the last\n",
      shares.span_us, shares.multiprocessors, static_cast<long long>(shares.products),
      100 * shares.start, 100 * shares.waiting, 100 * shares.multiplying, 100 * shares.epilogue,
      100 * shares.tail);
  std::string all = text.data();
  if (shares.tensor_busy > 0) {
    std::snprintf(text.data(), text.size(), "tensor cores idle: %.1f%% of SMs x time\n",
                  100 * (1 - shares.tensor_busy));
    all += text.data();
  } else {
    all += "tensor cores idle: unknown without the SM clock\n";
  }
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
    if (is_consumer(track)) {
      json.name_thread(process, thread, track_name(track) + ": tiles");
      std::int64_t number = 0;
      for (const Tile& tile : tiles_of(track)) {
        json.span(process, thread, "tile", number, tile.begin, tile.multiplied);
        if (tile.end > tile.multiplied)
          json.span(process, thread, "epilogue of tile", number, tile.multiplied, tile.end);
        ++number;
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
