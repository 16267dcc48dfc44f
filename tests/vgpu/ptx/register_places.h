// SPDX-License-Identifier: Apache-2.0
// Where the registers of a warp lie. PTX has one for every value, thousands of them; those that
// live within one block share places, so that a warp's registers stay in the cache.
#pragma once

#include <cstdint>
#include <span>

#include "vgpu/ptx/program.h"

namespace bwgemm::vgpu {

// What an instruction does to a register, by its index in Program::code and the register's offset.
struct RegisterUse {
  std::uint32_t instruction, offset;
  std::uint8_t bytes;  // of one lane
  bool writes;
};

// Gives all operands their final offsets. Needs the blocks of find_reconvergence; `uses` are in the
// order of the code.
void place_registers(Program& program, std::span<const RegisterUse> uses);

}  // namespace bwgemm::vgpu
