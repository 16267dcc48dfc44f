// SPDX-License-Identifier: Apache-2.0
// Prediction: what the timing mode says of a launch. predict() runs one in simulated cycles; no
// products are computed and no tile is moved.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vgpu/machine.h"
#include "vgpu/timing/constants.h"

namespace bwgemm::vgpu {

struct Prediction {
  // Why a thread waits: by what ends its wait.
  enum Cause { operands, slot, tensor, store, other, causes };
  // What a warp does most of, beside computing.
  enum Role { loads, multiplies, stores, computes, roles };
  static constexpr std::array<const char*, causes> cause_names = {"operands", "slot", "tensor",
                                                                  "store", "other"};
  static constexpr std::array<const char*, roles> role_names = {"loads", "multiplies", "stores",
                                                                "computes"};
  // Average of its warps.
  struct RoleCycles {
    double warps = 0, cycles = 0;  // warps of a CTA; from first to last instruction
    std::array<double, causes> waits{};
  };
  enum ResourceKind { tensor_cores, port, shared, store_engine, load_engine, l2, hbm, resources };
  static constexpr std::array<const char*, resources> resource_names = {
      "tensor", "port", "shared", "store", "load", "l2", "hbm"};

  std::string kernel;
  double us = 0, cycles = 0, clock_ghz = 0;
  std::array<RoleCycles, roles> by_role;
  // Of an SM's tensor cores between their first and last product, part of that time: idle, by what
  // the warp that went on had waited for most; computes: it had not waited.
  double tensor_idle = 0;
  std::array<double, causes> idle_by_cause{};
  double idle_computing = 0;
  double tensor_share = 0;  // of all cycles that tensor cores work, average SM
  double tail = 0;          // part of all SMs' cycles without a CTA, the last wave's above all
  // Of the cycles that a resource is at work; those of an SM: of one that has CTAs.
  std::array<double, resources> busy{};
  ResourceKind busiest() const;
  double sampled_ctas = 0, ctas = 0;
  std::uint64_t warp_instructions = 0;

  std::string text() const;  // some lines, each marked as predicted
  std::string csv() const;   // one line
  static std::string csv_header();
};

// `ctas_per_sm` that fit. Findings and LaunchError as of run(); with findings nothing is predicted.
Prediction predict(const LaunchRequest& request, GlobalMemory& memory, const Constants& constants,
                   std::uint32_t ctas_per_sm, std::vector<Finding>& findings);

}  // namespace bwgemm::vgpu
