// SPDX-License-Identifier: Apache-2.0
#include "vgpu/ptx/ptx_declarations.h"

#include <charconv>
#include <string>

#include "vgpu/machine.h"

namespace bwgemm::vgpu {
namespace {

// A declaration is a list of words; "name[12]" stays one word.
class Words {
 public:
  Words(std::string_view text, std::string_view origin, int line)
      : rest_(trimmed(text)), origin_(origin), line_(line) {}

  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  std::string_view next() {
    const std::size_t end = rest_.find(' ');
    const std::string_view word = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : trimmed(rest_.substr(end));
    return word;
  }
  bool skip(std::string_view word) {
    if (rest_ != word && !(rest_.starts_with(word) && rest_[word.size()] == ' ')) return false;
    next();
    return true;
  }
  std::uint32_t number() { return number(next()); }
  std::uint32_t number(std::string_view word) const {
    while (word.ends_with(',')) word.remove_suffix(1);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail("not a number: " + std::string(word));
    return value;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw LoadError(origin_, line_, reason);
  }

 private:
  std::string_view rest_, origin_;
  int line_;
};

// ".b8 name[12]" or ".u32 name"; the bytes of "name[]" are 0.
void read_variable(Words& words, std::string& name, std::uint32_t& bytes) {
  std::string_view type = words.next();
  if (!type.starts_with('.')) words.fail("type expected: " + std::string(type));
  bytes = type_bytes(type.substr(1));
  if (bytes == 0) words.fail("unknown type: " + std::string(type));
  std::string_view variable = words.next();
  const std::size_t bracket = variable.find('[');
  name = variable.substr(0, bracket);
  if (bracket == std::string_view::npos) return;
  variable.remove_prefix(bracket + 1);
  if (variable.find('[') != std::string_view::npos || !variable.ends_with(']'))
    words.fail("array of one dimension expected");
  variable.remove_suffix(1);
  bytes *= variable.empty() ? 0 : words.number(variable);
}

}  // namespace

std::uint32_t type_bytes(std::string_view type) {
  for (const char* name : {"b8", "u8", "s8"})
    if (type == name) return 1;
  for (const char* name : {"b16", "u16", "s16", "f16", "bf16"})
    if (type == name) return 2;
  for (const char* name : {"b32", "u32", "s32", "f32", "f16x2", "bf16x2"})
    if (type == name) return 4;
  for (const char* name : {"b64", "u64", "s64", "f64", "f32x2"})
    if (type == name) return 8;
  if (type == "b128") return 16;
  return 0;
}

std::vector<RegisterDeclaration> read_register_declarations(std::string_view text,
                                                            std::string_view origin, int line) {
  Words words(text, origin, line);
  words.next();  // .reg
  const std::string type(words.next().substr(1));
  if (type != "pred" && type_bytes(type) < 2) words.fail("no register type: " + type);
  std::vector<RegisterDeclaration> result;
  for (const std::string& part : split_operands(words.rest())) {
    RegisterDeclaration declaration{type, part, 0, line};
    if (const std::size_t range = part.find('<'); range != std::string::npos) {
      declaration.name = part.substr(0, range);
      declaration.count =
          words.number(std::string_view(part).substr(range + 1, part.size() - range - 2));
    }
    result.push_back(std::move(declaration));
  }
  return result;
}

SharedDeclaration read_shared_declaration(std::string_view text, std::string_view origin,
                                          int line) {
  Words words(text, origin, line);
  SharedDeclaration declaration;
  declaration.is_extern = words.skip(".extern");
  if (!words.skip(".shared")) words.fail("unknown declaration: " + std::string(text));
  if (words.skip(".align")) declaration.alignment = words.number();
  read_variable(words, declaration.name, declaration.bytes);
  if (!words.empty()) words.fail("unknown: " + std::string(words.rest()));
  return declaration;
}

ParameterDeclaration read_parameter_declaration(std::string_view text, std::string_view origin,
                                                int line) {
  Words words(text, origin, line);
  ParameterDeclaration declaration;
  if (!words.skip(".param")) words.fail("parameter expected: " + std::string(text));
  const bool aligned = words.skip(".align");
  if (aligned) declaration.alignment = words.number();
  // ".u64 .ptr .align 1 name": that alignment is the pointee's.
  std::string text_without_pointer(words.rest());
  if (const std::size_t pointer = text_without_pointer.find(".ptr"); pointer != std::string::npos)
    text_without_pointer.erase(pointer, text_without_pointer.rfind(' ') - pointer);
  Words variable(text_without_pointer, origin, line);
  read_variable(variable, declaration.name, declaration.bytes);
  if (!aligned) declaration.alignment = declaration.bytes;
  return declaration;
}

void read_kernel_directives(std::string_view text, KernelText& kernel, std::string_view origin,
                            int line) {
  Words words(text, origin, line);
  auto product_of_numbers = [&] {
    std::uint32_t product = 1;
    while (!words.empty() && !words.rest().starts_with('.')) product *= words.number();
    return product;
  };
  while (!words.empty()) {
    const std::string directive(words.next());
    if (directive == ".maxntid" || directive == ".reqntid")
      kernel.max_threads = product_of_numbers();
    else if (directive == ".reqnctapercluster")
      kernel.cluster_size = product_of_numbers();
    else if (directive == ".minnctapersm")
      kernel.min_ctas = product_of_numbers();
    else if (directive == ".maxnreg" || directive == ".maxclusterrank")
      words.number();  // concerns ptxas
    else if (directive != ".explicitcluster")
      words.fail("unknown directive: " + directive);
  }
}

}  // namespace bwgemm::vgpu
