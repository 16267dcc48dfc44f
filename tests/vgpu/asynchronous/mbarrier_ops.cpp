// SPDX-License-Identifier: Apache-2.0
// The mbarrier instructions: what threads do to the objects of mbarrier.h.
#include "vgpu/machine/mbarrier.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

enum : std::uint32_t {
  expects = 1,  // arrive.expect_tx, or expect_tx alone
  arrives = 2,
  relaxed = 4,
  cluster_scope = 8,
  remote = 16,      // shared::cluster
  polls = 32,       // test_wait: never sleeps
  with_state = 64,  // of the phase waited for, which an arrival gave; else its parity
  completes = 128,  // complete_tx
};

// A barrier of this CTA.
std::uint32_t local_offset(Warp& warp, const Instruction& instruction, int lane) {
  const std::uint32_t address = shared_address(warp, instruction, lane);
  if (&warp.simulation.cta_at(warp.cta, address, &instruction) != &warp.cta)
    fail(warp, instruction, "mbarrier-remote", "only arrivals may be remote");
  warp.simulation.shared(warp.cta, address & offset_mask, 8, 8, &instruction);
  return address & offset_mask;
}

Step init(Warp& warp, const Instruction& instruction, LaneMask mask) {
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t offset = local_offset(warp, instruction, lane);
    const std::uint32_t count = lanes<std::uint32_t>(warp, instruction.b)[lane];
    if (count == 0 || count > MBarrier::max_count)
      fail(warp, instruction, "mbarrier-invalid",
           "initialised for " + std::to_string(count) + " arrivals");
    MBarrier& barrier = warp.cta.mbarriers[offset];
    if (barrier.valid)
      warp.simulation.findings().report(Finding::Severity::error, "mbarrier-invalid",
                                        "initialised again without mbarrier.inval", &instruction);
    const Entity entity =
        barrier.entity
            ? barrier.entity
            : warp.cta.cluster.new_entity(Cluster::EntityKind::mbarrier, warp.cta.rank, offset);
    barrier = MBarrier();
    barrier.entity = entity;
    barrier.valid = true;
    barrier.expected = barrier.pending = count;
    warp.cta.shadow.begin_barrier({warp, lane, &instruction, "initialisation"}, offset);
  });
  return Step::next;
}

Step invalidate(Warp& warp, const Instruction& instruction, LaneMask mask) {
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t offset = local_offset(warp, instruction, lane);
    MBarrier& barrier =
        find_mbarrier(warp.simulation, warp.cta, offset, "mbarrier.inval", &instruction);
    if (!barrier.sleepers.empty() || barrier.transactions != 0)
      fail(warp, instruction, "mbarrier-invalid", "invalidated while in use");
    barrier.valid = false;
    warp.cta.shadow.end_barrier({warp, lane, &instruction, "mbarrier.inval"}, offset);
  });
  return Step::next;
}

// What an arrival publishes. A relaxed one, or one whose scope does not reach the barrier's CTA,
// publishes no ordinary access of any warp. It still passes on what asynchronous operations have
// completed for the arriving threads: TMA phases they waited for, wgmma they waited for, tcgen05
// loads they fenced. Assumption: those operations are over when their wait returns, so that a slot
// they have read may be overwritten by TMA once the arrival is observed, with nothing to release.
View published_by(Warp& warp, const Instruction& instruction, LaneMask mask, bool reaches) {
  if (!(instruction.modifiers & relaxed) && reaches) return warp.release(mask);
  View view = warp.knowledge.gathered_view(mask);
  warp.forget_fences_of_others(mask, view);
  for (Clock* clock : {&view.generic, &view.async, &view.async_global})
    warp.cta.cluster.forget_warps(*clock);
  return view;
}

// Counts an arrival or expectation in other CTAs, which the lanes then know of.
void count_remote(Warp& warp, LaneMask mask) {
  if (warp.remote_arrivals == 0)
    warp.remote_arrivals =
        warp.cta.cluster.new_entity(Cluster::EntityKind::arrivals, warp.cta.rank, warp.index);
  const Time count = ++warp.remote_arrival_count;
  warp.knowledge.for_lanes(mask, warp.live, [&](Knowledge& knowledge) {
    knowledge.view.raise(warp.remote_arrivals, count);
  });
}

Step arrive_or_expect(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  const std::uint32_t flags = instruction.modifiers;
  // Lanes of one instruction release together; where they arrive may differ.
  bool all_reached = true, is_remote = false;
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t rank = shared_address(warp, instruction, lane) >> rank_shift;
    is_remote |= rank != warp.cta.rank;
    all_reached &= rank == warp.cta.rank || (flags & cluster_scope);
  });
  if (!all_reached)
    simulation.findings().report(Finding::Severity::strict, "mbarrier-scope",
                                 "an arrival of CTA scope in another CTA", &instruction);
  if (is_remote) count_remote(warp, mask);
  const View published =
      flags & arrives ? published_by(warp, instruction, mask, all_reached) : View();
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    const std::uint32_t offset = address & offset_mask;
    Cta& cta = simulation.cta_at(warp.cta, address, &instruction);
    if (&cta != &warp.cta && !(flags & remote))
      fail(warp, instruction, "mbarrier-remote", "a .shared::cta arrival in another CTA");
    MBarrier& barrier = find_mbarrier(simulation, cta, offset, "an arrival", &instruction);
    cta.shadow.use_barrier({warp, lane, &instruction, "use of an mbarrier"}, offset, false);
    const std::uint32_t operand =
        instruction.b.exists() ? lanes<std::uint32_t>(warp, instruction.b)[lane] : 1;
    if (flags & expects) expect_transactions(simulation, barrier, operand, &instruction);
    if (flags & completes) complete_transactions(simulation, barrier, operand, &instruction);
    if (&cta != &warp.cta)
      cta.remote_accesses.raise(warp.remote_arrivals, warp.remote_arrival_count);
    if (instruction.d.exists()) lanes<std::uint64_t>(warp, instruction.d)[lane] = barrier.phase;
    if (flags & arrives)
      arrive(simulation, barrier, flags & expects ? 1 : operand, &published, &instruction);
  });
  return Step::next;
}

// What a wait of this scope takes over; a relaxed one, nothing.
void acquire(Warp& warp, const Instruction& instruction, LaneMask mask, const MBarrier& barrier) {
  if (instruction.modifiers & relaxed) return;
  if (instruction.modifiers & cluster_scope) {
    warp.knowledge.acquire(mask, warp.live, barrier.completed);
    return;
  }
  static thread_local View view;  // keeps its memory
  view = barrier.completed;
  const int own = static_cast<int>(warp.cta.rank);
  for (Clock* clock : {&view.generic, &view.async, &view.async_global})
    warp.cta.cluster.forget_warps(*clock, own);
  warp.knowledge.acquire(mask, warp.live, view);
}

Step wait_for_phase(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  LaneMask done = 0;
  MBarrier *pending = nullptr, *completed = nullptr;
  std::uint32_t pending_offset = 0;
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t offset = local_offset(warp, instruction, lane);
    MBarrier& barrier = find_mbarrier(simulation, warp.cta, offset, "a wait", &instruction);
    warp.cta.shadow.use_barrier({warp, lane, &instruction, "use of an mbarrier"}, offset, false);
    const std::uint32_t parity =
        instruction.modifiers & with_state
            ? static_cast<std::uint32_t>(lanes<std::uint64_t>(warp, instruction.b)[lane] & 1)
            : lanes<std::uint32_t>(warp, instruction.b)[lane];
    if (parity > 1) fail(warp, instruction, "mbarrier-invalid", "a parity that is neither 0 nor 1");
    if ((barrier.phase & 1) != parity) {
      done |= 1u << lane;
      if (completed && completed != &barrier)
        acquire(warp, instruction, 1u << lane, barrier);
      else
        completed = &barrier;
    } else {
      pending = &barrier;
      pending_offset = offset;
    }
  });
  const bool sleeps = !done && !(instruction.modifiers & polls);
  if (sleeps && !simulation.fails_spuriously(instruction)) {
    pending->sleepers.push_back(warp.current);
    simulation.sleep(warp.current, "mbarrier", pending_offset);
    return Step::retry;
  }
  set_predicate(warp, instruction.d, done, mask);
  if (completed) acquire(warp, instruction, done, *completed);
  return Step::next;
}

// [.release|.relaxed|.acquire][.cta|.cluster]
std::uint32_t decode_semantics(Decoder& decoder, const char* strong) {
  std::uint32_t flags = 0;
  if (decoder.take("relaxed"))
    flags |= relaxed;
  else
    decoder.take(strong);
  if (decoder.take("cluster"))
    flags |= cluster_scope;
  else
    decoder.take("cta");
  return flags;
}

void decode_arrive(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  std::uint32_t flags = 0;
  if (decoder.take("arrive")) flags |= arrives;
  if (decoder.take("expect_tx")) flags |= expects;
  if (decoder.take("complete_tx")) flags |= completes;
  flags |= decode_semantics(decoder, "release");
  if (decoder.one_of({"shared::cta", "shared", "shared::cluster"}) == 2) flags |= remote;
  std::size_t at = 0;
  if (flags & arrives) {
    if (decoder.text(at) != "_") instruction.d = decoder.destination(at, 8);
    ++at;
  }
  instruction.a = decoder.address(at++, 4);
  if (at < decoder.operands()) instruction.b = decoder.source(at, 4);
  if ((flags & (expects | completes)) && !instruction.b.exists())
    decoder.fail("a count of bytes is missing");
  instruction.modifiers = flags;
  instruction.execute = arrive_or_expect;
}

void decode_wait(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  std::uint32_t flags = decoder.one_of({"try_wait", "test_wait"}) == 1 ? +polls : 0u;
  if (!decoder.take("parity")) flags |= with_state;
  instruction.modifiers = flags | decode_semantics(decoder, "acquire");
  decoder.one_of({"shared::cta", "shared"});
  instruction.d = decoder.predicate_destination(0);
  instruction.a = decoder.address(1, 4);
  instruction.b = decoder.source(2, flags & with_state ? 8 : 4);
  if (decoder.operands() > 3) decoder.source(3, 4);  // a time limit: how long is nobody's promise
  instruction.execute = wait_for_phase;
}

}  // namespace

bool decode_mbarrier(Decoder& decoder) {
  if (decoder.base() != "mbarrier") return false;
  if (!decoder.ends_with_type({"b64"})) decoder.fail("type .b64 expected");
  decoder.type();
  Instruction& instruction = decoder.instruction;
  const bool inits = decoder.take("init");
  if (inits || decoder.take("inval")) {
    decoder.one_of({"shared::cta", "shared"});
    instruction.a = decoder.address(0, 4);
    if (inits) instruction.b = decoder.source(1, 4);
    instruction.execute = inits ? init : invalidate;
  } else if (decoder.has("arrive") || decoder.has("expect_tx") || decoder.has("complete_tx")) {
    decode_arrive(decoder);
  } else {
    decode_wait(decoder);
  }
  return true;
}

}  // namespace bwgemm::vgpu
