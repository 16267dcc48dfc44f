// SPDX-License-Identifier: Apache-2.0
// Warp: 32 lanes with their registers, the splits they currently run in, and what they know. A
// split is a set of lanes with one program counter; divergence makes several, and each can run
// alone.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/judges/knowledge.h"
#include "vgpu/ptx/program.h"

namespace bwgemm::vgpu {

// Who wrote and read a column of a warp's quarter of tensor memory: tensor pipes, or warps as their
// tensor entities.
struct TensorCell {
  bool written = false;
  Entity writer = 0, reader = 0;
  Time written_at = 0, read_at = 0;
};

class CopyQueue;
class Simulation;
struct Cta;
struct Warpgroup;
struct Warp;
struct WarpTime;

struct Split {
  Warp* warp;
  LaneMask mask;
  std::uint32_t pc;
  int join;              // index into Warp::joins; -1: none
  int ready_index = -1;  // in the scheduler's list; -1: asleep
  bool dead = false;
  double time = 0;  // cycle, where time is simulated
  const char* sleeps_on = nullptr;
  std::uint32_t sleeps_at = 0;  // the address or number of what it sleeps on
};

// Where the two sides of a divergent branch wait for each other.
struct Join {
  std::uint32_t pc;
  LaneMask expected, arrived;
  int parent;
  int users;  // splits and joins that name it; 0: free
};

// Lanes that reached a bar.warp.sync of one member mask.
struct WarpRendezvous {
  LaneMask members, arrived;
  std::vector<Split*> sleepers;
};

// The bulk groups of one thread: they complete in order, and complete reading before writing.
struct BulkGroups {
  struct Group {
    std::uint32_t operations = 0, reading = 0, writing = 0;  // all; those that still do
  };
  Entity reads, writes;  // shared memory, global memory; their times are numbers of groups
  std::vector<Group> committed;
  Group open;
  std::vector<Split*> sleepers;

  std::uint32_t open_number() const { return static_cast<std::uint32_t>(committed.size()) + 1; }
  Group& group(std::uint32_t number) {
    return number <= committed.size() ? committed[number - 1] : open;
  }
};

// The accumulators of wgmma operations in flight. Their registers are poisoned meanwhile.
struct WgmmaAccumulator {
  std::int32_t list;          // of registers
  std::vector<float> values;  // [register][lane]
  std::uint32_t group;        // that covers its last operation
  std::vector<float> sums;    // [row of the warp][column], once an operation ran
};

// A tcgen05.ld in flight. Its registers are poisoned until tcgen05.wait::ld.
struct TensorLoad {
  std::int32_t list;
  std::vector<std::uint32_t> values;  // [register][lane]
};

struct Warp {
  Warp(Simulation& simulation, Cta& cta, std::uint32_t index);

  Simulation& simulation;
  Cta& cta;
  std::uint32_t index;  // in its CTA
  LaneMask live = all_lanes;
  std::array<std::byte*, 2> blocks;  // of Operand::Kind::registers and ::constants
  std::unique_ptr<std::byte[]> registers;
  std::vector<LaneMask> predicates;

  std::vector<std::unique_ptr<Split>> splits;
  std::vector<Join> joins;
  Split* current = nullptr;
  WarpTime* timing = nullptr;  // where time is simulated
  std::vector<WarpRendezvous> rendezvous;

  // ---- ordering ----
  Entity entity, tensor_entity;
  // At mbarriers of other CTAs: who has seen the phase that one completed comes after it, though a
  // relaxed one publishes no ordinary access.
  Entity remote_arrivals = 0;  // none yet
  Time remote_arrival_count = 0;
  Time time = 1, tensor_time = 1;
  Time synchronised_at = 0;      // time of the last warp synchronisation
  Time fenced_at = 0;            // what fences had made of it for the async proxy, then
  Time tensor_fenced_at = 0;     // what fences had published of its tcgen05 loads, then
  bool fenced_together = false;  // by several lanes since then: each for itself
  std::uint16_t synchronisations = 1;
  LaneMask accessed = 0;  // lanes with accesses to memory since then
  WarpKnowledge knowledge;
  std::uint32_t register_count;  // of a thread; 0: unknown
  bool in_cluster_barrier = false;
  std::uint32_t cluster_phase = 0;

  std::array<std::unique_ptr<BulkGroups>, warp_lanes> bulk;
  BulkGroups& bulk_groups(int lane);

  std::shared_ptr<CopyQueue> copies;  // of cp.async; null: there were none

  // ---- wgmma ----
  Warpgroup* warpgroup = nullptr;
  std::uint32_t wgmma_issued = 0;
  std::vector<std::uint32_t> wgmma_groups;  // per committed group: the last operation in it
  std::vector<WgmmaAccumulator> accumulators;
  bool accumulators_touched = true;  // since the last wgmma.fence

  std::vector<TensorLoad> tensor_loads;
  bool tensor_stores_pending = false;
  Time tensor_stored_until = 0;  // what tcgen05.wait::st has waited for, in tensor_time
  // Its own tcgen05.st, waited for.
  bool stored(const TensorCell& cell) const {
    return cell.writer == tensor_entity && cell.written_at <= tensor_stored_until;
  }

  // All lanes are together: they share knowledge, and the accesses before are ordered.
  void synchronise();
  // What a release by these lanes publishes; the next accesses come after it.
  View release(LaneMask mask);
  // Fences of several lanes are each lane's own until all have met: takes out of what these lanes
  // publish what only the others' fences have done.
  void forget_fences_of_others(LaneMask mask, View& view) const;
  // Does `lane` come after that time of that entity, for ordinary accesses?
  bool knows(int lane, Entity by, Time at) const {
    return by == entity || knowledge.of_lane(lane).view.generic.at(by) >= at;
  }
  // "CTA 3 warp 1", for findings.
  std::string name() const;
};

template <class T>
T* lanes(Warp& warp, const Operand& operand) {
  return reinterpret_cast<T*>(warp.blocks[static_cast<int>(operand.kind)] + operand.offset);
}

// A predicate operand may be an immediate, too.
inline LaneMask predicate(Warp& warp, const Operand& operand) {
  if (operand.kind == Operand::Kind::predicate) return warp.predicates[operand.offset];
  return *lanes<std::uint32_t>(warp, operand) != 0 ? all_lanes : 0;
}

inline void set_predicate(Warp& warp, const Operand& operand, LaneMask values, LaneMask mask) {
  LaneMask& old = warp.predicates[operand.offset];
  old = (old & ~mask) | (values & mask);
}

template <class Visit>
void for_each_lane(LaneMask mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(__builtin_ctz(mask));
}

}  // namespace bwgemm::vgpu
