// SPDX-License-Identifier: Apache-2.0
// Barrier, Cursor and Ring: the only places where a phase parity appears. A ring hands `stages`
// slots of shared memory from a producer to a consumer and back through one pair of mbarriers per
// slot.
#pragma once

#include "device/ptx/mbarrier.h"

namespace bwgemm {

// An mbarrier of this CTA.
struct Barrier {
  std::uint32_t address;

  BWGEMM_DEVICE void init(std::uint32_t arrivals) const { ptx::mbarrier_init(address, arrivals); }

  // Orders what this CTA's threads and its TMA loads did before the phase completed.
  BWGEMM_DEVICE void wait(std::uint32_t parity) const {
    while (!ptx::mbarrier_try_wait_parity(address, parity)) {
    }
  }

  // And what threads of other CTAs of the cluster did.
  BWGEMM_DEVICE void wait_cluster(std::uint32_t parity) const {
    while (!ptx::mbarrier_try_wait_parity_cluster(address, parity)) {
    }
  }
};

// A position in a ring: the slot, and the parity of the slot's next `full` phase.
struct Cursor {
  std::uint32_t stage = 0;
  std::uint32_t phase = 0;

  BWGEMM_DEVICE void advance(std::uint32_t stages) {
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// Barriers of a ring: `full` and `empty` are arrays of mbarriers in shared memory.
struct Ring {
  std::uint32_t full_address, empty_address;

  BWGEMM_DEVICE Barrier full(const Cursor& at) const { return {full_address + 8 * at.stage}; }
  BWGEMM_DEVICE Barrier empty(const Cursor& at) const { return {empty_address + 8 * at.stage}; }

  BWGEMM_DEVICE void init(std::uint32_t stages, std::uint32_t full_arrivals,
                          std::uint32_t empty_arrivals) const {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      Barrier{full_address + 8 * stage}.init(full_arrivals);
      Barrier{empty_address + 8 * stage}.init(empty_arrivals);
    }
  }

  // Producer: waits until the slot's previous contents are consumed. A fresh barrier counts as
  // having completed the phase before its first, so the first round passes at once.
  BWGEMM_DEVICE void wait_empty(const Cursor& at) const { empty(at).wait(at.phase ^ 1); }

  // Consumer: waits until the slot's contents have arrived.
  BWGEMM_DEVICE void wait_full(const Cursor& at) const { full(at).wait(at.phase); }
};

}  // namespace bwgemm
