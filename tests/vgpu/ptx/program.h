// SPDX-License-Identifier: Apache-2.0
// Program: one kernel, decoded. An instruction is a function and its operands; registers of a warp
// are arrays of 32 lanes in one block of bytes, immediates arrays of 32 equal values in another, so
// that executing an instruction never asks what an operand is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vgpu/machine.h"
#include "vgpu/ptx/ptx_text.h"

namespace bwgemm::vgpu {

inline constexpr int warp_lanes = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask all_lanes = 0xffffffff;

// The shared window of a CTA begins here; below lies what the system reserves.
inline constexpr std::uint32_t shared_base = 0x400;
// A shared::cluster address names the CTA's rank above these bits.
inline constexpr int rank_shift = 24;
inline constexpr std::uint32_t offset_mask = (1u << rank_shift) - 1;

struct Operand {
  enum class Kind : std::uint8_t { registers, constants, predicate, special, none };
  Kind kind = Kind::none;
  std::uint8_t bytes = 0;    // of one lane
  std::uint32_t offset = 0;  // of lane 0 in its block; a predicate's or special register's index

  bool exists() const { return kind != Kind::none; }
  bool operator==(const Operand&) const = default;
};

// %tid.x and its like.
struct SpecialRegister {
  std::string_view name;
  std::uint64_t (*value)(const struct Warp&, std::uint32_t lane);
};
std::span<const SpecialRegister> special_registers();

struct Warp;
struct Instruction;

// What happens to a split after an instruction.
enum class Step : std::uint8_t {
  next,   // goes on
  retry,  // sleeps, then executes the instruction again
  wait,   // sleeps, then goes on
  pause,  // goes on when it is chosen again
};
using Execute = Step (*)(Warp&, const Instruction&, LaneMask);

struct Instruction {
  enum class Flow : std::uint8_t { plain, branch, exit };
  static constexpr std::uint32_t never = ~0u;

  Execute execute = nullptr;
  Flow flow = Flow::plain;
  bool starts_block = false;
  bool guard_negated = false;
  bool touches_accumulator = false;      // names a register that some wgmma accumulates in
  std::int32_t guard = -1;               // a predicate
  Operand d, a, b, c, e;                 // d: destination; the rest as the instruction lists them
  Operand predicate;                     // one more destination or source that is a predicate
  std::int64_t displacement = 0;         // of the address; or an immediate of the instruction
  std::int32_t source_displacement = 0;  // of the second address, if there is one
  std::uint32_t modifiers = 0;           // flags, private to the instruction's family
  std::uint32_t size = 0;                // bytes of an element, or columns of a matrix
  std::int32_t list = -1, list_b = -1, list_c = -1;  // vector operands
  std::uint32_t target = 0;                          // of a branch
  std::uint32_t reconvergence = never;  // where the paths of a branch meet; never: at the exit
  std::int32_t line = 0, position = -1;
  std::uint32_t opcode = 0;  // index into Program::opcodes
};

struct Program {
  std::string origin;  // of the text
  KernelInfo info;
  std::vector<Instruction> code;
  std::vector<std::vector<Operand>> lists;
  std::vector<std::string> opcodes;
  std::vector<ParameterDeclaration> parameters;  // with offsets in parameter_offsets
  std::vector<std::uint32_t> parameter_offsets;

  std::uint32_t register_bytes = 0, predicates = 0;
  std::uint32_t junk_bytes = 0;  // of them, the first ones: what may be read before it is written
  std::uint32_t launch_registers = 0;  // of a thread, before any setmaxnreg; 0: unknown
  std::vector<std::byte> constants;
  // (offset, bytes) of constants that are shared addresses: each CTA puts its rank into them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shared_constants;
  std::uint32_t dynamic_shared = 0;  // offset of the dynamic shared variables, behind the static
  std::uint32_t shared_granule = 4, global_granule = 4;  // narrowest access to each space, bytes

  std::vector<SourcePosition> positions;
  std::map<int, std::string> files;

  const std::string& opcode(const Instruction& instruction) const {
    return opcodes[instruction.opcode];
  }
  // "file:line", then the calls it was inlined through; empty if unknown.
  std::string source(const Instruction& instruction) const;
};

}  // namespace bwgemm::vgpu
