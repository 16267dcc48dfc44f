// SPDX-License-Identifier: Apache-2.0
// The mbarrier object. It lives beside shared memory, keyed by its address: its 8 bytes are opaque,
// and touching them with ordinary accesses is a finding.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/judges/clocks.h"
#include "vgpu/machine/warp.h"

namespace bwgemm::vgpu {

struct MBarrier {
  static constexpr std::uint32_t max_count = (1u << 20) - 1;
  static constexpr std::int64_t max_transactions = (1 << 20) - 1;

  bool valid = false;
  Entity entity = 0;  // its times are numbers of completed phases
  std::uint32_t expected = 0, pending = 0;
  std::int64_t transactions = 0;  // bytes; negative while completions run ahead of expectations
  std::uint32_t phase = 0;
  View arriving;   // published to the phase that is under way
  View completed;  // published by the last phase
  std::vector<Split*> sleepers;
};

// Operations on the barrier at `offset` of a CTA. `what` names the operation in findings.
MBarrier& find_mbarrier(Simulation& simulation, Cta& cta, std::uint32_t offset, const char* what,
                        const Instruction* instruction);
// `published` may be null: an arrival that orders nothing.
void arrive(Simulation& simulation, MBarrier& barrier, std::uint32_t count, const View* published,
            const Instruction* instruction);
void expect_transactions(Simulation& simulation, MBarrier& barrier, std::int64_t bytes,
                         const Instruction* instruction);
void complete_transactions(Simulation& simulation, MBarrier& barrier, std::int64_t bytes,
                           const Instruction* instruction);

}  // namespace bwgemm::vgpu
