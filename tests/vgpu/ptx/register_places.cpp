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
  bool may_be_junk = false;
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
                           use.writes && instruction.guard < 0, false, false});
    Register& found = registers[known->second];
    const bool reads_at_first = !use.writes && use.instruction == found.first;
    found.lives_in_block &= !reads_at_first && !is_in_flight(program.opcode(instruction)) &&
                            blocks[use.instruction] == blocks[found.first];
    found.is_loaded |= use.writes && gives_later(program.opcode(instruction));
    found.last = use.instruction;
  }
  return registers;
}

// Which registers a block reads before it has written them as a whole, and which it writes so. Of
// what is in flight a write reads, too.
class RegisterSet {
 public:
  explicit RegisterSet(std::size_t registers) : words_(registers / bits + 1) {}
  bool has(std::size_t i) const { return words_[i / bits] >> i % bits & 1; }
  void add(std::size_t i) { words_[i / bits] |= std::uint64_t{1} << i % bits; }
  // Those of `others` that are not in `without`. True: some are new.
  bool add(const RegisterSet& others, const RegisterSet& without) {
    std::uint64_t added = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t more = others.words_[i] & ~without.words_[i] & ~words_[i];
      words_[i] |= more;
      added |= more;
    }
    return added != 0;
  }

 private:
  static constexpr std::size_t bits = 64;
  std::vector<std::uint64_t> words_;
};
struct BlockUses {
  std::uint32_t last;  // instruction
  RegisterSet reads, writes;
};

std::vector<BlockUses> uses_of_blocks(const Program& program, std::span<const RegisterUse> uses,
                                      const std::unordered_map<std::uint32_t, std::size_t>& index,
                                      std::vector<std::uint32_t>& block_of) {
  std::vector<BlockUses> blocks;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    if (blocks.empty() || program.code[i].starts_block)
      blocks.push_back({i, RegisterSet(index.size()), RegisterSet(index.size())});
    blocks.back().last = i;
    block_of.push_back(static_cast<std::uint32_t>(blocks.size()) - 1);
  }
  for (std::size_t first = 0, end = 0; first < uses.size(); first = end) {
    const std::uint32_t at = uses[first].instruction;
    for (end = first; end < uses.size() && uses[end].instruction == at;) ++end;
    BlockUses& block = blocks[block_of[at]];
    const bool is_late = is_in_flight(program.opcode(program.code[at]));
    for (const bool writes : {false, true})
      for (const RegisterUse& use : uses.subspan(first, end - first)) {
        const std::size_t number = index.at(use.offset);
        if (use.writes != writes) continue;
        if ((!writes || is_late) && !block.writes.has(number)) block.reads.add(number);
        if (writes && !is_late && program.code[at].guard < 0) block.writes.add(number);
      }
  }
  return blocks;
}

// Marks what some path from the kernel's beginning reads before it is written as a whole.
void find_junk(const Program& program, std::span<const RegisterUse> uses,
               std::vector<Register>& registers) {
  std::unordered_map<std::uint32_t, std::size_t> index;
  for (std::size_t i = 0; i < registers.size(); ++i) index[registers[i].offset] = i;
  std::vector<std::uint32_t> block_of;
  std::vector<BlockUses> blocks = uses_of_blocks(program, uses, index, block_of);
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = blocks.size(); i-- > 0;) {
      BlockUses& block = blocks[i];
      const auto add = [&](std::size_t next) {
        if (next < blocks.size()) grows |= block.reads.add(blocks[next].reads, block.writes);
      };
      const Instruction& last = program.code[block.last];
      if (last.flow == Instruction::Flow::branch) add(block_of[last.target]);
      if (last.flow == Instruction::Flow::plain || last.guard >= 0) add(i + 1);
    }
  }
  for (std::size_t i = 0; i < registers.size() && !blocks.empty(); ++i)
    registers[i].may_be_junk = blocks[0].reads.has(i);
}

// Places that are free again, of registers of one width that are loaded, or are not.
constexpr std::size_t widest = 16;
using Free = std::array<std::vector<std::uint32_t>, 2 * (widest + 1)>;

std::vector<std::uint32_t>& free_for(Free& free, const Register& of) {
  return free[2 * of.bytes + of.is_loaded];
}

}  // namespace

void place_registers(Program& program, std::span<const RegisterUse> uses) {
  std::vector<Register> registers = registers_of(program, uses);  // ordered by `first`
  find_junk(program, uses, registers);
  std::vector<std::vector<const Register*>> ends(program.code.size());
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  std::uint32_t end = 0;
  const auto take = [&](const Register& one) {
    places[one.offset] = end;
    end += one.bytes * warp_lanes;
  };
  for (const Register& one : registers)
    if (!one.lives_in_block && one.may_be_junk) take(one);
  program.junk_bytes = end;
  for (const Register& one : registers)
    if (!one.lives_in_block && !one.may_be_junk) take(one);
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
