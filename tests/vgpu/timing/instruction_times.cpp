// SPDX-License-Identifier: Apache-2.0
// What each instruction of a kernel is to time, by its opcode and, for users of loaded values, by
// its registers.
#include <algorithm>
#include <set>
#include <string_view>

#include "vgpu/timing/timeline.h"

namespace bwgemm::vgpu {
namespace {

struct Rule {
  std::string_view prefix, part;  // the opcode begins with, and contains
  InstructionTime::Kind kind;
};

// The first that fits. Without one: it has no effect outside of its warp.
constexpr Rule rules[] = {
    {"mbarrier.t", "", InstructionTime::waiting},
    {"mbarrier", "", InstructionTime::visible},
    {"cp.async.bulk.tensor", "bulk_group", InstructionTime::bulk_store},
    {"cp.async.bulk.tensor", "", InstructionTime::bulk_load},
    {"cp.async.bulk.prefetch", "", InstructionTime::plain},
    {"cp.async.bulk.commit", "", InstructionTime::visible},
    {"cp.async.bulk.wait", "", InstructionTime::waiting},
    {"cp.async.bulk", "bulk_group", InstructionTime::bulk_store},
    {"cp.async.bulk", "", InstructionTime::bulk_load},
    {"cp.reduce", "", InstructionTime::bulk_store},
    {"cp.async.c", ".shared", InstructionTime::copy},
    {"cp.async", "", InstructionTime::waiting},
    {"wgmma.wait", "", InstructionTime::waiting},
    {"wgmma.mma", "", InstructionTime::product},
    {"tcgen05.ld", "", InstructionTime::load_tensor},
    {"tcgen05.wait::ld", "", InstructionTime::wait_tensor},
    {"tcgen05.mma", "", InstructionTime::product},
    {"tcgen05", "", InstructionTime::visible},
    {"ld", ".global", InstructionTime::load_global},
    {"ld", ".shared", InstructionTime::load_shared},
    {"ldmatrix", "", InstructionTime::load_shared},
    {"st.async", "", InstructionTime::visible},
    {"st", ".global", InstructionTime::store_global},
    {"st", ".shared", InstructionTime::store_shared},
    {"stmatrix", "", InstructionTime::store_shared},
    {"atom", ".global", InstructionTime::atomic},
    {"red", ".global", InstructionTime::atomic},
    {"atom", "", InstructionTime::load_shared},
    {"red.async", "", InstructionTime::visible},
    {"mma.sync", "", InstructionTime::mma_sync},
    {"bar", "", InstructionTime::visible},
    {"setmaxnreg", "", InstructionTime::waiting},
    {"griddepcontrol", "", InstructionTime::visible},
    {"clusterlaunchcontrol", "", InstructionTime::visible},
    {"nanosleep", "", InstructionTime::visible},
    {"ret", "", InstructionTime::visible},
    {"exit", "", InstructionTime::visible},
};

InstructionTime::Kind kind_of(std::string_view opcode) {
  const auto* rule = std::find_if(std::begin(rules), std::end(rules), [&](const Rule& candidate) {
    return opcode.starts_with(candidate.prefix) &&
           opcode.find(candidate.part) != std::string_view::npos;
  });
  return rule == std::end(rules) ? InstructionTime::plain : rule->kind;
}

bool comes_later(InstructionTime::Kind kind) {
  return kind == InstructionTime::load_global || kind == InstructionTime::load_shared ||
         kind == InstructionTime::atomic || kind == InstructionTime::mma_sync;
}

float cycles_of(std::string_view opcode, const Constants& constants) {
  if (opcode.starts_with("mbarrier")) return static_cast<float>(constants.mbarrier_cycles);
  if (opcode.starts_with("bar.warp")) return static_cast<float>(constants.instruction_cycles);
  if (opcode.starts_with("bar")) return static_cast<float>(constants.barrier_cycles);
  if (opcode.starts_with("fence")) return static_cast<float>(constants.fence_cycles);
  if (opcode.starts_with("mov") || opcode.starts_with("cvta") || opcode.starts_with("ld.param"))
    return static_cast<float>(constants.issue_cycles);  // mostly names for registers
  return static_cast<float>(constants.instruction_cycles);
}

class Registers {
 public:
  void add(const Operand& operand) {
    if (operand.kind == Operand::Kind::registers) offsets_.insert(operand.offset);
  }
  bool has(const Operand& operand) const {
    return operand.kind == Operand::Kind::registers && offsets_.contains(operand.offset);
  }

 private:
  std::set<std::uint32_t> offsets_;
};

}  // namespace

bool gives_later(std::string_view opcode) {
  return comes_later(kind_of(opcode));
}

std::vector<InstructionTime> instruction_times(const Program& program, const Constants& constants) {
  std::vector<InstructionTime> times;
  Registers loaded;
  for (const Instruction& instruction : program.code) {
    const std::string_view opcode = program.opcode(instruction);
    const InstructionTime::Kind kind = kind_of(opcode);
    float wake = 0;
    if (kind == InstructionTime::waiting)
      wake = static_cast<float>(opcode.starts_with("wgmma") ? constants.wgmma_latency
                                                            : constants.wake_cycles);
    times.push_back({kind, false, cycles_of(opcode, constants), wake});
    if (!comes_later(kind)) continue;
    loaded.add(instruction.d);
    if (instruction.list >= 0)
      for (const Operand& operand : program.lists[instruction.list]) loaded.add(operand);
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Instruction& instruction = program.code[i];
    bool& uses = times[i].uses_load;
    for (const Operand* operand : {&instruction.a, &instruction.b, &instruction.c, &instruction.e})
      uses |= loaded.has(*operand);
    // What such an instruction gives itself, it does not wait for. (mma.sync adds to what the one
    // before it gives: the tensor core sees to that.)
    const std::int32_t first = comes_later(times[i].kind) ? -1 : instruction.list;
    for (const std::int32_t list : {first, instruction.list_b, instruction.list_c})
      if (list >= 0)
        uses |= std::any_of(program.lists[list].begin(), program.lists[list].end(),
                            [&](const Operand& operand) { return loaded.has(operand); });
  }
  return times;
}

}  // namespace bwgemm::vgpu
