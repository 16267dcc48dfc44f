// SPDX-License-Identifier: Apache-2.0
// What roles of kernels are, and what they do when, as a trace tells it (trace.h).
#pragma once

#include <cstdint>

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

}  // namespace bwgemm
