// SPDX-License-Identifier: Apache-2.0
// Places registers, shared variables and parameters, and finds them again by name.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {
namespace {

std::uint32_t aligned(std::uint32_t value, std::uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Dynamic shared memory begins at the largest alignment anybody asks for.
constexpr std::uint32_t dynamic_alignment = 1024;

}  // namespace

Symbols::Symbols(const KernelText& kernel, const ModuleText& module, Program& program)
    : program_(program), registers_(kernel.scopes.size()), labels_(kernel.scopes.size()) {
  for (std::size_t i = 0; i < kernel.scopes.size(); ++i) {
    scope_parents_.push_back(kernel.scopes[i].parent);
    labels_[i].insert(kernel.scopes[i].labels.begin(), kernel.scopes[i].labels.end());
  }
  place_shared(kernel, module);
  place_parameters(kernel);
  place_registers(kernel);
  sink_ = allocate("b64", 1);
  predicate_sink_ = allocate("pred", 1);
}

void Symbols::place_shared(const KernelText& kernel, const ModuleText& module) {
  std::uint32_t end = shared_base;
  std::vector<std::string> dynamic;
  auto place = [&](const SharedDeclaration& variable) {
    if (variable.is_extern) {
      dynamic.push_back(variable.name);
      return;
    }
    end = aligned(end, variable.alignment);
    shared_[variable.name] = end;
    end += variable.bytes;
  };
  for (const SharedDeclaration& variable : module.shared) place(variable);
  for (const SharedDeclaration& variable : kernel.shared) place(variable);
  program_.info.static_shared_bytes = end - shared_base;
  program_.dynamic_shared = dynamic.empty() ? end : aligned(end, dynamic_alignment);
  for (const std::string& name : dynamic) shared_[name] = program_.dynamic_shared;
}

void Symbols::place_parameters(const KernelText& kernel) {
  std::uint32_t end = 0;
  for (const ParameterDeclaration& parameter : kernel.parameters) {
    end = aligned(end, std::max(parameter.alignment, 1u));
    program_.parameters.push_back(parameter);
    program_.parameter_offsets.push_back(end);
    parameters_[parameter.name] = end;
    end += parameter.bytes;
  }
  program_.info.parameter_bytes = end;
}

Operand Symbols::allocate(const std::string& type, std::uint32_t count) {
  Operand first;
  if (type == "pred") {
    first.kind = Operand::Kind::predicate;
    first.offset = program_.predicates;
    program_.predicates += count;
    return first;
  }
  first.kind = Operand::Kind::registers;
  first.bytes = static_cast<std::uint8_t>(type_bytes(type));
  first.offset = program_.register_bytes;
  program_.register_bytes += count * first.bytes * warp_lanes;
  return first;
}

void Symbols::place_registers(const KernelText& kernel) {
  for (std::size_t scope = 0; scope < kernel.scopes.size(); ++scope)
    for (const RegisterDeclaration& declared : kernel.scopes[scope].registers)
      registers_[scope][declared.name] = {allocate(declared.type, std::max(declared.count, 1u)),
                                          declared.count};
}

bool Symbols::find_register(std::string_view name, int scope, Operand& operand) const {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  for (; scope >= 0; scope = scope_parents_[scope]) {
    const auto& registers = registers_[scope];
    if (const auto found = registers.find(name);
        found != registers.end() && found->second.count == 0) {
      operand = found->second.first;
      return true;
    }
    if (digits == name.size()) continue;
    const auto found = registers.find(name.substr(0, digits));
    if (found == registers.end()) continue;
    std::uint32_t index = 0;
    std::from_chars(name.data() + digits, name.data() + name.size(), index);
    if (index >= found->second.count) continue;
    operand = found->second.first;
    operand.offset +=
        operand.kind == Operand::Kind::predicate ? index : index * operand.bytes * warp_lanes;
    return true;
  }
  return false;
}

void Symbols::note_use(const Operand& operand, bool writes) {
  if (operand.kind == Operand::Kind::registers)
    uses_.push_back(
        {static_cast<std::uint32_t>(program_.code.size()), operand.offset, operand.bytes, writes});
}

bool Symbols::find_label(std::string_view name, int scope, std::uint32_t& statement) const {
  for (; scope >= 0; scope = scope_parents_[scope])
    if (const auto found = labels_[scope].find(name); found != labels_[scope].end()) {
      statement = found->second;
      return true;
    }
  return false;
}

bool Symbols::find_shared(std::string_view name, std::uint32_t& offset) const {
  const auto found = shared_.find(name);
  if (found == shared_.end()) return false;
  offset = found->second;
  return true;
}

bool Symbols::find_parameter(std::string_view name, std::uint32_t& offset) const {
  const auto found = parameters_.find(name);
  if (found == parameters_.end()) return false;
  offset = found->second;
  return true;
}

Operand Symbols::constant(std::uint64_t value, std::uint32_t bytes) {
  if (bytes < 8) value &= (std::uint64_t{1} << (8 * bytes)) - 1;
  const auto [entry, is_new] = constants_.try_emplace({value, bytes});
  if (is_new) {
    Operand& operand = entry->second;
    operand.kind = Operand::Kind::constants;
    operand.bytes = static_cast<std::uint8_t>(bytes);
    operand.offset = static_cast<std::uint32_t>(program_.constants.size());
    program_.constants.resize(operand.offset + warp_lanes * bytes);
    for (int lane = 0; lane < warp_lanes; ++lane)
      std::memcpy(&program_.constants[operand.offset + lane * bytes], &value, bytes);
  }
  return entry->second;
}

// Not shared with equal numbers, because each CTA changes it.
Operand Symbols::shared_constant(std::uint32_t address, std::uint32_t bytes) {
  Operand operand;
  operand.kind = Operand::Kind::constants;
  operand.bytes = static_cast<std::uint8_t>(bytes);
  operand.offset = static_cast<std::uint32_t>(program_.constants.size());
  program_.constants.resize(operand.offset + warp_lanes * bytes);
  for (int lane = 0; lane < warp_lanes; ++lane)
    std::memcpy(&program_.constants[operand.offset + lane * bytes], &address,
                std::min<std::size_t>(bytes, sizeof address));
  program_.shared_constants.emplace_back(operand.offset, bytes);
  return operand;
}

}  // namespace bwgemm::vgpu
