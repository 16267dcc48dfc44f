// SPDX-License-Identifier: Apache-2.0
// The outer structure of a PTX module as text: kernels, their parameters, declarations and
// statements, scopes with their labels, and the CUDA source lines behind them. Knows no
// instruction; decode.h gives statements a meaning.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bwgemm::vgpu {

// A position of `.loc`, and the call it was inlined at: an index into the same list, or -1.
struct SourcePosition {
  int file, line, caller;
};

struct Statement {
  std::string opcode;
  std::vector<std::string> operands;
  std::string guard;  // name of the predicate; empty: always executed
  bool guard_negated = false;
  int line = 0;
  int scope = 0;
  int position = -1;  // index into KernelText::positions
};

struct RegisterDeclaration {
  std::string type, name;
  std::uint32_t count = 0;  // 0: one register of exactly this name; else name0 .. name<count-1>
  int line = 0;
};

struct SharedDeclaration {
  std::string name;
  std::uint32_t alignment = 1, bytes = 0;
  bool is_extern = false;  // dynamic: begins behind all others
};

struct ParameterDeclaration {
  std::string name;
  std::uint32_t alignment = 1, bytes = 0;
};

// What stands between { and }. Inline assembly nests, and repeats label and register names.
struct TextScope {
  int parent = -1;
  std::vector<RegisterDeclaration> registers;
  std::map<std::string, std::uint32_t> labels;  // to the index of a statement
};

struct KernelText {
  std::string name;
  int line = 0;
  std::vector<ParameterDeclaration> parameters;
  std::uint32_t max_threads = 0, cluster_size = 0, min_ctas = 1;
  std::vector<SharedDeclaration> shared;
  std::vector<TextScope> scopes;
  std::vector<Statement> statements;
  std::vector<SourcePosition> positions;
};

struct ModuleText {
  std::vector<KernelText> kernels;
  std::vector<SharedDeclaration> shared;  // of all kernels
  std::map<int, std::string> files;       // by the number `.loc` uses
};

// Throws LoadError.
ModuleText read_module_text(std::string_view ptx, std::string_view origin);

// Bytes of a scalar type's value without the dot, such as "b32"; 0: no such type.
std::uint32_t type_bytes(std::string_view type);

// Splits at commas outside of brackets and trims the parts; nothing gives no parts.
std::vector<std::string> split_operands(std::string_view text);
std::string_view trimmed(std::string_view text);

}  // namespace bwgemm::vgpu
