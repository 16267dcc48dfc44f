// SPDX-License-Identifier: Apache-2.0
// How lanes run: splits execute, diverge at branches, meet at joins and leave. Meeting again is
// what hardware does in practice, and no synchronisation.
#include <algorithm>

#include "vgpu/asynchronous/wgmma.h"
#include "vgpu/machine/multiprocessor.h"

namespace bwgemm::vgpu {

using Flow = Instruction::Flow;
using Severity = Finding::Severity;

void Simulation::execute(Split* split) {
  split->warp->current = split;
  const std::uint32_t count = options_.adversarial ? 1 + random(quantum_) : quantum_;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!execute_at(split)) return;
}

// One instruction. False: the split cannot, or shall not, go on.
bool Simulation::execute_at(Split* split) {
  Warp& warp = *split->warp;
  const Instruction& instruction = program_.code[split->pc];
  if (instruction.starts_block && split->join >= 0 && warp.joins[split->join].pc == split->pc) {
    arrive_at_join(split);
    return false;
  }
  ++instructions_;
  LaneMask mask = split->mask;
  if (instruction.guard >= 0) {
    const LaneMask guard = warp.predicates[instruction.guard];
    mask &= instruction.guard_negated ? ~guard : guard;
  }
  if (!executed_.empty() && (mask != 0 || instruction.flow == Flow::branch))
    executed_[split->pc] = 1;
  if (instruction.flow == Flow::branch) {
    branch(split, instruction, mask);
    return !options_.adversarial || mask == 0 || mask == split->mask || !chance(0.5);
  }
  if (instruction.flow == Flow::exit) {
    exit_lanes(split, mask);
    if (split->dead) return false;
    ++split->pc;
    return true;
  }
  if (mask == 0) {
    ++split->pc;
    return true;
  }
  if (instruction.touches_accumulator) note_accumulator_access(warp, instruction);
  const Step step = instruction.execute(warp, instruction, mask);
  if (step == Step::next) {
    ++split->pc;
    return true;
  }
  if (step != Step::retry) ++split->pc;
  if (step != Step::pause) unschedule(split);
  return false;
}

void Simulation::branch(Split* split, const Instruction& instruction, LaneMask taken) {
  Warp& warp = *split->warp;
  if (taken == split->mask) {
    split->pc = instruction.target;
    return;
  }
  const LaneMask others = split->mask & ~taken;
  ++split->pc;
  if (taken == 0) return;
  int join = split->join;
  if (instruction.reconvergence != Instruction::never) {
    join = new_join(warp, instruction.reconvergence, split->mask, split->join);
    ++warp.joins[join].users;
    if (split->join >= 0) --warp.joins[split->join].users;  // new_join keeps the parent in use
  }
  split->mask = others;
  split->join = join;
  wake(new_split(warp, taken, instruction.target, join));
}

Split* Simulation::new_split(Warp& warp, LaneMask mask, std::uint32_t pc, int join) {
  if (join >= 0) ++warp.joins[join].users;
  for (const auto& split : warp.splits)
    if (split->dead) {
      *split = Split{&warp, mask, pc, join};
      return split.get();
    }
  warp.splits.push_back(std::make_unique<Split>(Split{&warp, mask, pc, join}));
  return warp.splits.back().get();
}

int Simulation::new_join(Warp& warp, std::uint32_t pc, LaneMask mask, int parent) {
  if (parent >= 0) ++warp.joins[parent].users;
  const Join join{pc, mask, 0, parent, 0};
  for (std::size_t i = 0; i < warp.joins.size(); ++i)
    if (warp.joins[i].users == 0) {
      warp.joins[i] = join;
      return static_cast<int>(i);
    }
  warp.joins.push_back(join);
  return static_cast<int>(warp.joins.size()) - 1;
}

void Simulation::drop_join(Warp& warp, int join) {
  while (join >= 0 && --warp.joins[join].users == 0) join = warp.joins[join].parent;
}

void Simulation::arrive_at_join(Split* split) {
  Warp& warp = *split->warp;
  const int join = split->join;
  warp.joins[join].arrived |= split->mask;
  ++warp.joins[join].users;  // kept while it is looked at
  end_split(split);
  release_join(warp, join);
  drop_join(warp, join);
}

void Simulation::release_join(Warp& warp, int index) {
  Join& join = warp.joins[index];
  if (join.expected == 0 || join.arrived != join.expected) return;
  const Join met = join;
  join.expected = join.arrived = 0;
  wake(new_split(warp, met.arrived, met.pc, met.parent));
}

void Simulation::end_split(Split* split) {
  split->dead = true;
  unschedule(split);
  if (split->join >= 0) drop_join(*split->warp, split->join);
}

void Simulation::exit_lanes(Split* split, LaneMask mask) {
  if (mask == 0) return;
  Warp& warp = *split->warp;
  Cta& cta = warp.cta;
  warp.live &= ~mask;
  split->mask &= ~mask;
  const auto count = static_cast<std::uint32_t>(__builtin_popcount(mask));
  cta.live_threads -= count;
  cta.cluster.live_threads -= count;
  // The lanes are expected at no join any more, which may complete one.
  std::vector<int> enclosing;
  for (int join = split->join; join >= 0; join = warp.joins[join].parent) {
    enclosing.push_back(join);
    warp.joins[join].expected &= ~mask;
    ++warp.joins[join].users;
  }
  if (split->mask == 0) end_split(split);
  for (const int join : enclosing) {
    if (split->dead) release_join(warp, join);
    drop_join(warp, join);
  }
  if (warp.live == 0) exit_warp(warp);
  release_cluster_barrier(*this, cta.cluster);
}

void Simulation::exit_warp(Warp& warp) {
  Cta& cta = warp.cta;
  warp.knowledge.share();
  const Clock& known = warp.knowledge.common().view.generic;
  for (const auto& bulk : warp.bulk) {
    if (!bulk) continue;
    const auto committed = static_cast<std::uint32_t>(bulk->committed.size());
    if (bulk->open.operations > 0 || known.at(bulk->reads) < committed)
      findings_.report(Severity::error, "bulk-exit",
                       warp.name() + " exits without having waited for its bulk stores", nullptr);
  }
  if (warp.warpgroup->done < warp.wgmma_issued)
    findings_.fatal("wgmma-exit", warp.name() + " exits with wgmma in flight", nullptr);
  cta.at_exit.join(known);
  cta.at_exit.raise(warp.entity, warp.time);
  if (--cta.live_warps == 0) exit_cta(cta);
}

void Simulation::exit_cta(Cta& cta) {
  cta.exited = true;
  let_dependents_begin(cta);
  const std::string name = "CTA " + std::to_string(cta.index);
  if (options_.clocks) {
    const auto& remote = cta.remote_accesses.times();
    for (std::size_t entity = 1; entity < remote.size(); ++entity)
      if (remote[entity] > cta.at_exit.at(static_cast<Entity>(entity))) {
        findings_.report(Severity::error, "exited-peer",
                         name + " exits not ordered after an access to its shared memory by " +
                             entity_name(*cta.warps[0], static_cast<Entity>(entity)),
                         nullptr);
        break;
      }
  }
  if (!cta.tensor.offers.empty())
    findings_.report(Severity::error, "tensor-pair",
                     name + " exits without its part in an allocation of its pair", nullptr);
  else if (!cta.tensor.blocks.empty())
    findings_.report(Severity::error, "tensor-leak", name + " exits with tensor memory allocated",
                     nullptr);
  leave_multiprocessor(cta);
  for (const auto& task : tasks_) task->check_exit(cta);
  if (--cta.cluster.live_ctas == 0) --clusters_resident_;
}

}  // namespace bwgemm::vgpu
