// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/mbarrier.h"

#include <utility>

#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {
namespace {

void end_phase_if_complete(Simulation& simulation, MBarrier& barrier) {
  if (barrier.pending != 0 || barrier.transactions != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  std::swap(barrier.completed, barrier.arriving);
  barrier.completed.raise(barrier.entity, barrier.phase);
  barrier.arriving.clear();
  simulation.wake_all(barrier.sleepers);
}

void check_transactions(Simulation& simulation, const MBarrier& barrier,
                        const Instruction* instruction) {
  if (barrier.transactions > MBarrier::max_transactions ||
      barrier.transactions < -MBarrier::max_transactions)
    simulation.findings().fatal("mbarrier-transactions", "the transaction count overflows",
                                instruction);
}

}  // namespace

MBarrier& find_mbarrier(Simulation& simulation, Cta& cta, std::uint32_t offset, const char* what,
                        const Instruction* instruction) {
  if (cta.exited)
    simulation.findings().fatal("exited-peer",
                                std::string(what) + " on an mbarrier of CTA " +
                                    std::to_string(cta.index) + ", which has exited",
                                instruction);
  const auto found = cta.mbarriers.find(offset);
  if (found == cta.mbarriers.end() || !found->second.valid)
    simulation.findings().fatal("mbarrier-invalid",
                                std::string(what) + " at shared " + hexadecimal(offset) +
                                    " of CTA " + std::to_string(cta.index) +
                                    ", which is no initialised mbarrier",
                                instruction);
  return found->second;
}

void arrive(Simulation& simulation, MBarrier& barrier, std::uint32_t count, const View* published,
            const Instruction* instruction) {
  if (barrier.pending < count)
    simulation.findings().fatal("mbarrier-arrivals",
                                "more arrivals than the " + std::to_string(barrier.expected) +
                                    " of phase " + std::to_string(barrier.phase),
                                instruction);
  if (published) barrier.arriving.join(*published);
  barrier.pending -= count;
  end_phase_if_complete(simulation, barrier);
}

void expect_transactions(Simulation& simulation, MBarrier& barrier, std::int64_t bytes,
                         const Instruction* instruction) {
  barrier.transactions += bytes;
  check_transactions(simulation, barrier, instruction);
  end_phase_if_complete(simulation, barrier);  // where all arrived before (seen on an H200)
}

void complete_transactions(Simulation& simulation, MBarrier& barrier, std::int64_t bytes,
                           const Instruction* instruction) {
  barrier.transactions -= bytes;
  check_transactions(simulation, barrier, instruction);
  end_phase_if_complete(simulation, barrier);
}

}  // namespace bwgemm::vgpu
