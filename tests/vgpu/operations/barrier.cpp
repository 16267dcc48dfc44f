// SPDX-License-Identifier: Apache-2.0
// Barriers of a CTA (bar, barrier) and of a cluster (barrier.cluster).
#include <utility>

#include "vgpu/machine/simulation.h"
#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {
namespace {

enum class Reduction : std::uint32_t { none, bit_and, bit_or };
constexpr std::uint32_t arrive_only = 4;  // in Instruction::modifiers, above the reduction

// The reduction's value for all lanes of a warp that arrives or leaves.
void fold(NamedBarrier& barrier, Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto reduction = static_cast<Reduction>(instruction.modifiers & 3);
  if (reduction == Reduction::none) return;
  const LaneMask values = predicate(warp, instruction.predicate) & mask;
  const bool value = reduction == Reduction::bit_or ? values != 0 : values == mask;
  if (barrier.arrived == 0) barrier.reduction = reduction == Reduction::bit_and;
  if (reduction == Reduction::bit_or)
    barrier.reduction |= value;
  else
    barrier.reduction &= value;
}

void leave(Warp& warp, const Instruction& instruction, const View& view, LaneMask result) {
  warp.knowledge.acquire(warp.live, warp.live, view);
  warp.synchronise();
  if (instruction.modifiers & 3)
    set_predicate(warp, instruction.d, result ? all_lanes : 0, warp.live);
}

Step cta_barrier(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  require_whole_warp(warp, instruction, mask, warp.live);
  const std::uint32_t number = *lanes<std::uint32_t>(warp, instruction.a);
  const std::uint32_t expected = instruction.b.exists() ? *lanes<std::uint32_t>(warp, instruction.b)
                                                        : warp.cta.live_warps * warp_lanes;
  if (number >= NamedBarrier::count || expected % warp_lanes != 0 || expected == 0)
    fail(warp, instruction, "barrier", "no such barrier, or not a count of whole warps");
  NamedBarrier& barrier = warp.cta.barriers[number];
  if (barrier.arrived > 0 && barrier.expected != expected)
    fail(warp, instruction, "barrier",
         "barrier " + std::to_string(number) + " with different counts of threads");
  fold(barrier, warp, instruction, mask);
  barrier.expected = expected;
  barrier.arrived += warp_lanes;
  warp.synchronise();
  barrier.arriving.join(warp.release(mask));
  if (barrier.arrived > expected)
    fail(warp, instruction, "barrier",
         "more threads than barrier " + std::to_string(number) + " expects");
  const bool waits = !(instruction.modifiers & arrive_only);
  if (barrier.arrived < expected) {
    if (!waits) return Step::next;
    barrier.sleepers.push_back(warp.current);
    simulation.sleep(warp.current, "barrier", number);
    return Step::wait;
  }
  static thread_local View view;  // keeps its memory
  std::swap(view, barrier.arriving);
  const LaneMask result = barrier.reduction;
  barrier.arriving.clear();
  barrier.arrived = 0;
  // A sleeper stands behind the instruction that it sleeps on.
  for (Split* split : barrier.sleepers)
    leave(*split->warp, simulation.program().code[split->pc - 1], view, result);
  simulation.wake_all(barrier.sleepers);
  if (waits) leave(warp, instruction, view, result);
  return Step::next;
}

constexpr std::uint32_t relaxed_arrival = 1;

Step cluster_arrive(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  Cluster& cluster = warp.cta.cluster;
  require_whole_warp(warp, instruction, mask, warp.live);
  if (warp.in_cluster_barrier)
    fail(warp, instruction, "barrier", "a second arrival before the wait");
  warp.in_cluster_barrier = true;
  warp.cluster_phase = cluster.phase;
  if (instruction.modifiers & relaxed_arrival) {
    // Publishes what a release fence covered before, and nothing else.
    const Knowledge knowledge = warp.knowledge.gathered(mask);
    if (knowledge.fenced) cluster.arriving.join(*knowledge.fenced);
  } else {
    warp.synchronise();
    cluster.arriving.join(warp.release(mask));
  }
  cluster.arrived += static_cast<std::uint32_t>(__builtin_popcount(mask));
  release_cluster_barrier(simulation, cluster);
  return Step::next;
}

Step cluster_wait(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Cluster& cluster = warp.cta.cluster;
  require_whole_warp(warp, instruction, mask, warp.live);
  if (!warp.in_cluster_barrier) fail(warp, instruction, "barrier", "a wait without arrival");
  if (cluster.phase == warp.cluster_phase) {
    cluster.sleepers.push_back(warp.current);
    warp.simulation.sleep(warp.current, "the cluster barrier's phase", cluster.phase);
    return Step::retry;
  }
  warp.in_cluster_barrier = false;
  warp.knowledge.acquire(mask, warp.live, cluster.completed);
  warp.synchronise();
  return Step::next;
}

void decode_cta_barrier(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  decoder.take("cta");
  if (decoder.base() == "barrier") decoder.take("aligned");
  const int action = decoder.one_of({"sync", "arrive", "red"});
  std::size_t at = 0;
  if (action == 2) {
    const bool is_or = decoder.one_of({"and", "or"}) == 1;
    instruction.modifiers =
        static_cast<std::uint32_t>(is_or ? Reduction::bit_or : Reduction::bit_and);
    decoder.expect("pred");
    instruction.d = decoder.predicate_destination(at++);
  }
  instruction.a = decoder.source(at++, 4);
  const std::size_t last = action == 2 ? decoder.operands() - 1 : decoder.operands();
  if (at < last) instruction.b = decoder.source(at, 4);
  if (action == 1) {
    if (!instruction.b.exists()) decoder.fail("a count of threads is missing");
    instruction.modifiers = arrive_only;
  }
  if (action == 2) instruction.predicate = decoder.predicate(last);
  instruction.execute = cta_barrier;
}

}  // namespace

void release_cluster_barrier(Simulation& simulation, Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.live_threads) return;
  ++cluster.phase;
  cluster.arrived = 0;
  cluster.completed = std::move(cluster.arriving);
  cluster.completed.generic.raise(Cluster::barriers, cluster.phase);
  cluster.arriving = View();
  simulation.wake_all(cluster.sleepers);
}

bool decode_barrier(Decoder& decoder) {
  if (decoder.base() != "bar" && decoder.base() != "barrier") return false;
  if (decoder.base() == "bar" || !decoder.take("cluster")) {
    decode_cta_barrier(decoder);
    return true;
  }
  const bool arrives = decoder.one_of({"arrive", "wait"}) == 0;
  if (arrives) decoder.instruction.modifiers = decoder.take("relaxed") ? relaxed_arrival : 0;
  if (arrives)
    decoder.take("release");
  else
    decoder.take("acquire");
  decoder.take("aligned");
  decoder.instruction.execute = arrives ? cluster_arrive : cluster_wait;
  return true;
}

}  // namespace bwgemm::vgpu
