// SPDX-License-Identifier: Apache-2.0
// From text to programs: decodes every statement of every kernel and closes the control flow.
#include <algorithm>
#include <set>

#include "vgpu/machine.h"
#include "vgpu/ptx/control_flow.h"
#include "vgpu/ptx/decoder.h"
#include "vgpu/ptx/program.h"
#include "vgpu/ptx/ptx_text.h"
#include "vgpu/ptx/register_places.h"

namespace bwgemm::vgpu {
namespace {

using Family = bool (*)(Decoder&);
constexpr Family families[] = {
    decode_integer, decode_float,    decode_convert,       decode_predicate,  decode_move,
    decode_message, decode_memory,   decode_atomic,        decode_warp,       decode_barrier,
    decode_fence,   decode_mbarrier, decode_tma,           decode_copy_async, decode_fragment,
    decode_wgmma,   decode_tcgen05,  decode_launch_control};

bool decode_flow(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  if (decoder.base() == "bra") {
    decoder.take("uni");  // a promise; where it is broken the branch diverges all the same
    instruction.flow = Instruction::Flow::branch;
    instruction.target = decoder.label(0);
    return true;
  }
  if (decoder.base() != "ret" && decoder.base() != "exit") return false;
  decoder.take("uni");
  instruction.flow = Instruction::Flow::exit;
  return true;
}

void decode_statement(const Statement& statement, Symbols& symbols, Program& program) {
  Decoder decoder(statement, symbols, program);
  const bool known =
      decode_flow(decoder) || std::any_of(std::begin(families), std::end(families),
                                          [&](Family family) { return family(decoder); });
  if (!known) decoder.fail("unknown opcode");
  decoder.finish();
  decoder.instruction.opcode = static_cast<std::uint32_t>(program.opcodes.size());
  program.opcodes.push_back(statement.opcode);
  program.code.push_back(decoder.instruction);
}

// Registers of wgmma may be touched by nothing else while they are in flight.
void mark_accumulators(Program& program) {
  std::set<std::uint32_t> accumulators;
  auto is_accumulator = [&](const Operand& operand) {
    return operand.kind == Operand::Kind::registers && accumulators.count(operand.offset) > 0;
  };
  for (std::size_t i = 0; i < program.code.size(); ++i)
    if (program.opcodes[i].starts_with("wgmma.mma"))
      for (const std::int32_t list : {program.code[i].list, program.code[i].list_b})
        if (list >= 0)
          for (const Operand& operand : program.lists[list]) accumulators.insert(operand.offset);
  if (accumulators.empty()) return;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    Instruction& instruction = program.code[i];
    if (program.opcodes[i].starts_with("wgmma.mma")) continue;
    bool touches = false;
    for (const Operand* operand :
         {&instruction.d, &instruction.a, &instruction.b, &instruction.c, &instruction.e})
      touches |= is_accumulator(*operand);
    for (const std::int32_t list : {instruction.list, instruction.list_b, instruction.list_c})
      if (list >= 0)
        touches |=
            std::any_of(program.lists[list].begin(), program.lists[list].end(), is_accumulator);
    instruction.touches_accumulator = touches;
  }
}

std::unique_ptr<Program> decode_kernel(const KernelText& kernel, const ModuleText& module,
                                       std::string_view origin) {
  auto program = std::make_unique<Program>();
  program->origin = origin;
  program->info.name = kernel.name;
  program->info.max_threads = kernel.max_threads;
  program->info.cluster_size = kernel.cluster_size;
  program->positions = kernel.positions;
  program->files = module.files;
  Symbols symbols(kernel, module, *program);
  for (const Statement& statement : kernel.statements)
    decode_statement(statement, symbols, *program);
  if (program->code.empty() || program->code.back().flow != Instruction::Flow::exit ||
      program->code.back().guard >= 0) {
    const Statement end{"ret", {}, "", false, 0, 0, -1};  // on no line
    decode_statement(end, symbols, *program);
  }
  constexpr std::uint32_t registers_per_sm = 65536, most_registers = 255;
  program->info.register_estimate =
      std::min(registers_per_sm / std::max(kernel.max_threads, 1u) / 8 * 8, most_registers);
  if (kernel.max_threads > 0) {
    const std::uint32_t all = kernel.max_threads * std::max(kernel.min_ctas, 1u);
    program->launch_registers = std::min(registers_per_sm / all, most_registers) / 8 * 8;
  }
  find_reconvergence(*program);
  place_registers(*program, symbols.uses());
  mark_accumulators(*program);
  return program;
}

}  // namespace

LoadError::LoadError(std::string_view origin, int line, const std::string& reason)
    : std::runtime_error(std::string(origin) + ":" + std::to_string(line) + ": " + reason),
      line_(line) {}

Module::Module() = default;
Module::~Module() = default;

std::shared_ptr<const Module> Module::parse(std::string_view ptx, std::string_view origin) {
  const ModuleText text = read_module_text(ptx, origin);
  if (text.kernels.empty()) throw LoadError(origin, 0, "no kernel in this text");
  std::shared_ptr<Module> module(new Module);
  for (const KernelText& kernel : text.kernels)
    module->programs_.push_back(decode_kernel(kernel, text, origin));
  return module;
}

const Program* Module::program(std::string_view name) const {
  for (const auto& program : programs_)
    if (program->info.name == name) return program.get();
  return nullptr;
}

const KernelInfo* Module::find(std::string_view name) const {
  const Program* found = program(name);
  return found ? &found->info : nullptr;
}

std::vector<std::string> Module::names() const {
  std::vector<std::string> names;
  for (const auto& program : programs_) names.push_back(program->info.name);
  return names;
}

std::vector<int> Module::instruction_lines(std::string_view name) const {
  std::set<int> lines;
  if (const Program* found = program(name))
    for (const Instruction& instruction : found->code)
      if (instruction.line > 0) lines.insert(instruction.line);
  return {lines.begin(), lines.end()};
}

std::string Program::source(const Instruction& instruction) const {
  constexpr int most_callers = 4;
  std::string text;
  int position = instruction.position;
  for (int depth = 0; position >= 0 && depth < most_callers; ++depth) {
    const SourcePosition& at = positions[position];
    const auto file = files.find(at.file);
    if (file == files.end()) break;
    if (depth > 0) text += " < ";
    text += file->second + ':' + std::to_string(at.line);
    position = at.caller;
  }
  return text;
}

}  // namespace bwgemm::vgpu
