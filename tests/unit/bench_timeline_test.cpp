// SPDX-License-Identifier: Apache-2.0
// From the stamps of a traced kernel to spans, shares of time and a trace file.
#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "bench/timeline.h"

namespace bwgemm::bench {
namespace {

constexpr std::size_t per_track = 8;

constexpr int producer = first_trace_track(TraceRole::producer);
constexpr int consumer = first_trace_track(TraceRole::consumer);

// One CTA on multiprocessor 5: a producer and a consumer that multiplies twice.
std::vector<TraceStamp> one_cta() {
  std::vector<TraceStamp> stamps(trace_tracks * per_track);
  const auto put = [&](int track, std::vector<TraceStamp> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      stamps[static_cast<std::size_t>(track) * per_track + i] = values[i];
  };
  put(producer, {{1000, TraceEvent::begin, trace_begin(TraceRole::producer, 5)},
                 {1010, TraceEvent::tile, 7},
                 {1020, TraceEvent::issue, 0},
                 {1100, TraceEvent::end, 0}});
  put(consumer, {{1000, TraceEvent::begin, trace_begin(TraceRole::consumer, 5)},
                 {1080, TraceEvent::tile, 7},
                 {1100, TraceEvent::wait_full, 0},
                 {1300, TraceEvent::multiply, 0},
                 {1500, TraceEvent::wait_full, 1},
                 {1550, TraceEvent::multiply, 1},
                 {1750, TraceEvent::epilogue, 0},
                 {2000, TraceEvent::end, 0}});
  return stamps;
}

TEST(BenchTimeline, TracksAreSpansBetweenStamps) {
  const std::vector<TraceTrack> tracks = tracks_of(one_cta(), per_track);
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[1].track, consumer);
  EXPECT_EQ(tracks[1].role, TraceRole::consumer);
  EXPECT_EQ(tracks[1].multiprocessor, 5u);
  EXPECT_FALSE(tracks[1].is_cut);
  ASSERT_EQ(tracks[1].spans.size(), 7u);
  EXPECT_EQ(tracks[1].spans[3].event, TraceEvent::multiply);
  EXPECT_DOUBLE_EQ(tracks[1].spans[3].begin, 300);
  EXPECT_DOUBLE_EQ(tracks[1].spans[3].end, 500);
}

TEST(BenchTimeline, SharesAddUp) {
  const TraceShares shares = shares_of(tracks_of(one_cta(), per_track), 360, 1800);
  EXPECT_DOUBLE_EQ(shares.span_us, 1);
  EXPECT_EQ(shares.multiprocessors, 1);
  EXPECT_EQ(shares.products, 2);
  RoleShares spent = shares.roles.at(TraceRole::consumer);
  EXPECT_EQ(spent.tracks, 1);
  EXPECT_DOUBLE_EQ(spent.start, 0.08);
  EXPECT_DOUBLE_EQ(spent.states[TraceEvent::tile], 0.02);
  EXPECT_DOUBLE_EQ(spent.states[TraceEvent::wait_full], 0.25);
  EXPECT_DOUBLE_EQ(spent.states[TraceEvent::multiply], 0.4);
  EXPECT_DOUBLE_EQ(spent.states[TraceEvent::epilogue], 0.25);
  EXPECT_DOUBLE_EQ(spent.tail, 0);
  EXPECT_DOUBLE_EQ(shares.roles.at(TraceRole::producer).tail, 0.9);
  EXPECT_DOUBLE_EQ(shares.tensor_busy, 0.4);  // twice 0.2 us
  EXPECT_NE(shares_text(shares).find("tensor cores idle: 60.0%"), std::string::npos);
  EXPECT_NE(shares_text(shares).find("\nproducer: 1.0% start, 1.0% begin tile, 8.0% issue loads, "
                                     "90.0% done before the last\n"),
            std::string::npos)
      << shares_text(shares);
  EXPECT_DOUBLE_EQ(shares_of(tracks_of(one_cta(), per_track), 360, 0).tensor_busy, 0);
}

TEST(BenchTimeline, OfVectorsNothingIsSaidOfTensorCores) {
  const std::string text = shares_text(shares_of(tracks_of(one_cta(), per_track), 0, 1800));
  EXPECT_NE(text.find("products not on tensor cores"), std::string::npos);
  EXPECT_EQ(text.find("idle"), std::string::npos);
}

TEST(BenchTimeline, AFullBufferIsSaid) {
  std::vector<TraceStamp> stamps = one_cta();
  stamps[consumer * per_track + 7] = {2000, TraceEvent::multiply, 2};
  EXPECT_TRUE(shares_of(tracks_of(stamps, per_track), 360, 1800).is_cut);
}

// A kernel that is launched again writes over its stamps; the track was longer before.
TEST(BenchTimeline, WhatIsBehindTheEndIsOfAnEarlierLaunch) {
  std::vector<TraceStamp> stamps = one_cta();
  stamps[producer * per_track + 4] = {400, TraceEvent::issue, 1};
  stamps[producer * per_track + 5] = {500, TraceEvent::end, 0};
  const std::vector<TraceTrack> tracks = tracks_of(stamps, per_track);
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0].spans.size(), 3u);
  EXPECT_DOUBLE_EQ(tracks[0].spans[0].begin, 0);
  EXPECT_FALSE(tracks[0].is_cut);
}

TEST(BenchTimeline, TraceFile) {
  const std::string json = trace_json(tracks_of(one_cta(), per_track), "title", 1);
  for (const char* text :
       {"\"title\":\"title\"", "\"name\":\"SM 5\"", "\"name\":\"CTA 0 consumer 0\"",
        "{\"ph\":\"X\",\"name\":\"multiply 1\",\"pid\":5,\"tid\":9,\"ts\":0.550,\"dur\":0.200}",
        "{\"ph\":\"X\",\"name\":\"tile 7\",\"pid\":5,\"tid\":8,\"ts\":0.080,\"dur\":0.670}",
        "\"name\":\"epilogue of tile 7\"", "\"name\":\"issue loads 0\"",
        "\"name\":\"CTA 0 producer: tiles\""})
    EXPECT_NE(json.find(text), std::string::npos) << text;
  const std::string coarse = trace_json(tracks_of(one_cta(), per_track), "title", 0);
  EXPECT_EQ(coarse.find("multiply"), std::string::npos);
  EXPECT_NE(coarse.find("tile 7"), std::string::npos);
}

}  // namespace
}  // namespace bwgemm::bench
