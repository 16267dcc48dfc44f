// SPDX-License-Identifier: Apache-2.0
// Reads a module character by character. A statement ends with ';', a directive such as .loc with
// its line, a label with ':'.
#include "vgpu/ptx/ptx_text.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <string>

#include "vgpu/machine.h"
#include "vgpu/ptx/ptx_declarations.h"

namespace bwgemm::vgpu {
namespace {

class ModuleReader {
 public:
  ModuleReader(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  ModuleText read() {
    while (skip_blank(), at_ < text_.size()) read_module_item();
    return std::move(module_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw LoadError(origin_, line_, reason);
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char take() {
    if (at_ >= text_.size()) fail("unexpected end of the text");
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }
  bool starts_with(std::string_view word) const { return text_.substr(at_, word.size()) == word; }
  // A directive: the word, and nothing that continues it.
  bool at_directive(std::string_view word) const {
    if (!starts_with(word)) return false;
    const char next = peek(word.size());
    return std::isspace(static_cast<unsigned char>(next)) || next == '\0';
  }

  std::string_view rest_of_line() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return text_.substr(start, at_ - start);
  }
  void skip_blank() {
    while (at_ < text_.size()) {
      if (starts_with("//"))
        rest_of_line();
      else if (std::isspace(static_cast<unsigned char>(peek())))
        take();
      else
        return;
    }
  }
  // Everything up to one of `ends`, which is left to be read; comments and line ends become blanks.
  std::string take_until(std::string_view ends) {
    std::string result;
    while (ends.find(peek()) == std::string_view::npos || at_ >= text_.size()) {
      if (starts_with("//"))
        rest_of_line();
      else if (const char c = take(); std::isspace(static_cast<unsigned char>(c)))
        result += ' ';
      else
        result += c;
    }
    return std::string(trimmed(result));
  }

  void read_module_item();
  void read_file();
  void read_kernel();
  void read_body(KernelText& kernel);
  void read_position(KernelText& kernel, std::map<std::string, int>& known);
  void read_statement(KernelText& kernel, int scope);

  std::string_view text_, origin_;
  std::size_t at_ = 0;
  int line_ = 1;
  int position_ = -1;
  ModuleText module_;
};

void ModuleReader::read_module_item() {
  for (const char* directive : {".version", ".target", ".address_size"})
    if (at_directive(directive)) {
      rest_of_line();
      return;
    }
  if (at_directive(".file")) return read_file();
  if (at_directive(".section")) {  // debug information: ends with the one brace it opens
    take_until("}");
    take();
    return;
  }
  if (at_directive(".visible") || at_directive(".weak")) {
    take_until(" \t\n");
    skip_blank();
  }
  if (at_directive(".entry")) return read_kernel();
  const int line = line_;
  const std::string declaration = take_until(";{");
  if (peek() != ';' || declaration.find(".shared") == std::string::npos) {
    line_ = line;
    fail("unknown at module level: " + declaration);
  }
  take();
  module_.shared.push_back(read_shared_declaration(declaration, origin_, line));
}

void ModuleReader::read_file() {
  const std::string line(rest_of_line());
  const std::size_t first = line.find('"'), last = line.rfind('"');
  int number = 0;
  if (std::sscanf(line.c_str(), ".file %d", &number) != 1 || first == last) fail("bad .file");
  module_.files[number] = line.substr(first + 1, last - first - 1);
}

void ModuleReader::read_kernel() {
  KernelText kernel;
  kernel.line = line_;
  take_until(" \t\n");  // .entry
  kernel.name = take_until("(");
  take();
  for (const std::string& parameter : split_operands(take_until(")")))
    kernel.parameters.push_back(read_parameter_declaration(parameter, origin_, line_));
  take();
  const int line = line_;
  read_kernel_directives(take_until("{"), kernel, origin_, line);
  take();
  read_body(kernel);
  module_.kernels.push_back(std::move(kernel));
}

void ModuleReader::read_body(KernelText& kernel) {
  std::map<std::string, int> known_positions;
  kernel.scopes.emplace_back();
  position_ = -1;
  int scope = 0;
  while (true) {
    skip_blank();
    switch (peek()) {
      case '{':
        take();
        kernel.scopes.emplace_back();
        kernel.scopes.back().parent = scope;
        scope = static_cast<int>(kernel.scopes.size()) - 1;
        break;
      case '}':
        take();
        scope = kernel.scopes[scope].parent;
        if (scope < 0) return;
        break;
      case ';':  // an empty statement: inline assembly without text
        take();
        break;
      default:
        if (at_directive(".loc"))
          read_position(kernel, known_positions);
        else
          read_statement(kernel, scope);
    }
  }
}

// .loc file line column[, function_name label, inlined_at file line column]
void ModuleReader::read_position(KernelText& kernel, std::map<std::string, int>& known) {
  const std::string text(rest_of_line());
  SourcePosition position{0, 0, -1};
  int column = 0;
  if (std::sscanf(text.c_str(), ".loc %d %d %d", &position.file, &position.line, &column) != 3)
    fail("bad .loc");
  if (const std::size_t inlined = text.find("inlined_at "); inlined != std::string::npos) {
    const auto caller = known.find(std::string(trimmed(text.substr(inlined + 11))));
    if (caller != known.end()) position.caller = caller->second;
  }
  position_ = static_cast<int>(kernel.positions.size());
  kernel.positions.push_back(position);
  known[std::to_string(position.file) + ' ' + std::to_string(position.line) + ' ' +
        std::to_string(column)] = position_;
}

void ModuleReader::read_statement(KernelText& kernel, int scope) {
  Statement statement;
  statement.line = line_;
  statement.scope = scope;
  statement.position = position_;
  const int line = line_;
  // Vector operands stand in braces, labels end with a colon that is not half of '::'.
  std::string text;
  while (peek() != ';') {
    if (peek() == ':' && peek(1) != ':' && (text.empty() || text.back() != ':')) {
      take();
      kernel.scopes[scope].labels[std::string(trimmed(text))] =
          static_cast<std::uint32_t>(kernel.statements.size());
      return;
    }
    text += take_until(";:");
    if (peek() == ':' && peek(1) == ':') {
      take();
      take();
      text += "::";
    }
  }
  take();
  std::string_view rest = text;
  if (rest.starts_with(".reg")) {
    auto declared = read_register_declarations(rest, origin_, line);
    auto& registers = kernel.scopes[scope].registers;
    registers.insert(registers.end(), declared.begin(), declared.end());
    return;
  }
  if (rest.starts_with(".shared")) {
    kernel.shared.push_back(read_shared_declaration(rest, origin_, line));
    return;
  }
  if (rest.starts_with(".pragma")) return;  // advice to ptxas
  if (rest.starts_with("@")) {
    const std::size_t end = rest.find(' ');
    std::string_view guard = rest.substr(1, end - 1);
    statement.guard_negated = guard.starts_with("!");
    if (statement.guard_negated) guard.remove_prefix(1);
    statement.guard = guard;
    rest = end == std::string_view::npos ? "" : trimmed(rest.substr(end));
  }
  const std::size_t end = rest.find_first_of(" {");
  statement.opcode = rest.substr(0, end);
  if (end != std::string_view::npos) statement.operands = split_operands(rest.substr(end));
  if (!std::isalpha(
          static_cast<unsigned char>(statement.opcode.empty() ? '.' : statement.opcode[0])))
    throw LoadError(origin_, line, "unknown statement: " + text);
  kernel.statements.push_back(std::move(statement));
}

}  // namespace

ModuleText read_module_text(std::string_view ptx, std::string_view origin) {
  return ModuleReader(ptx, origin).read();
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    parts.emplace_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

}  // namespace bwgemm::vgpu
