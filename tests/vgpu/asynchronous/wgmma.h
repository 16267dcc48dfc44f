// SPDX-License-Identifier: Apache-2.0
// Warpgroup: four warps that issue wgmma together. Operations run in order, and only when all four
// have issued them; operands are read when an operation runs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {

struct WgmmaOperation {
  std::uint64_t a, b;     // descriptors; a of 0: in registers
  std::uint32_t n, form;  // form: WgmmaForm
  bool accumulate;
  bool operator==(const WgmmaOperation&) const = default;
};

struct Warpgroup {
  static constexpr std::uint32_t warps = 4;

  Warpgroup(Simulation& simulation, Cta& cta, std::uint32_t first_warp);

  struct Pending {
    WgmmaOperation operation;
    std::uint32_t number;                           // from 1
    std::uint32_t issued = 0;                       // bit per warp
    std::array<std::uint32_t, warps> accumulators;  // first register of each warp's
    std::vector<float> a;                           // if in registers: rows of the four warps
    const Instruction* instruction;
  };

  Cta& cta;
  std::uint32_t first_warp;
  Entity entity;           // its times are numbers of operations
  std::uint32_t done = 0;  // number of the last one that ran
  std::deque<Pending> queue;
  std::vector<Split*> sleepers;
  std::shared_ptr<AsyncTask> task;

  bool can_run() const { return !queue.empty() && queue.front().issued == (1u << warps) - 1; }
};

}  // namespace bwgemm::vgpu
