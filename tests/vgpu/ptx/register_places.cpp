// SPDX-License-Identifier: Apache-2.0
#include "vgpu/ptx/register_places.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "vgpu/timing/timeline.h"

namespace bwgemm::vgpu {
namespace {

struct Register {
  std::uint32_t offset;       // as declared
  std::uint32_t first, last;  // instructions that name it
  std::uint8_t bytes;
  bool lives_in_block;  // written there, as a whole, before anything reads it
  bool is_loaded;       // which timing knows by its place
};

// Written when the instruction is long over, or known by their places while they are in flight.
bool is_in_flight(const std::string& opcode) {
  return opcode.starts_with("wgmma") || opcode.starts_with("tcgen05");
}

std::vector<Register> registers_of(const Program& program, std::span<const RegisterUse> uses) {
  std::vector<std::uint32_t> blocks;
  for (const Instruction& instruction : program.code)
    blocks.push_back((blocks.empty() ? 0 : blocks.back()) + instruction.starts_block);
  std::vector<Register> registers;
  std::unordered_map<std::uint32_t, std::size_t> index;  // by offset
  for (const RegisterUse& use : uses) {
    const Instruction& instruction = program.code[use.instruction];
    const auto [known, is_new] = index.try_emplace(use.offset, registers.size());
    if (is_new)
      registers.push_back({use.offset, use.instruction, use.instruction, use.bytes,
                           use.writes && instruction.guard < 0, false});
    Register& found = registers[known->second];
    const bool reads_at_first = !use.writes && use.instruction == found.first;
    found.lives_in_block &= !reads_at_first && !is_in_flight(program.opcode(instruction)) &&
                            blocks[use.instruction] == blocks[found.first];
    found.is_loaded |= use.writes && gives_later(program.opcode(instruction));
    found.last = use.instruction;
  }
  return registers;
}

// Places that are free again, of registers of one width that are loaded, or are not.
constexpr std::size_t widest = 16;
using Free = std::array<std::vector<std::uint32_t>, 2 * (widest + 1)>;

std::vector<std::uint32_t>& free_for(Free& free, const Register& of) {
  return free[2 * of.bytes + of.is_loaded];
}

}  // namespace

void place_registers(Program& program, std::span<const RegisterUse> uses) {
  const std::vector<Register> registers = registers_of(program, uses);  // ordered by `first`
  std::vector<std::vector<const Register*>> ends(program.code.size());
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  std::uint32_t end = 0;
  const auto take = [&](const Register& one) {
    places[one.offset] = end;
    end += one.bytes * warp_lanes;
  };
  for (const Register& one : registers)
    if (!one.lives_in_block) take(one);
  program.junk_bytes = end;
  Free free;
  std::uint32_t passed = 0;
  for (const Register& one : registers) {
    if (!one.lives_in_block) continue;
    // A place is free behind the last instruction that names it, not during it.
    for (; passed < one.first; ++passed)
      for (const Register* over : ends[passed])
        free_for(free, *over).push_back(places[over->offset]);
    std::vector<std::uint32_t>& candidates = free_for(free, one);
    if (candidates.empty()) {
      take(one);
    } else {
      places[one.offset] = candidates.back();
      candidates.pop_back();
    }
    ends[one.last].push_back(&one);
  }
  program.register_bytes = end;
  const auto place = [&](Operand& operand) {
    if (operand.kind == Operand::Kind::registers) operand.offset = places.at(operand.offset);
  };
  for (Instruction& instruction : program.code)
    for (Operand* operand : {&instruction.d, &instruction.a, &instruction.b, &instruction.c,
                             &instruction.e, &instruction.predicate})
      place(*operand);
  for (std::vector<Operand>& list : program.lists)
    for (Operand& operand : list) place(operand);
}

}  // namespace bwgemm::vgpu
