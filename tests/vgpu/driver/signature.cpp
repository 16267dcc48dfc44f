// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/signature.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace bwgemm::vgpu::driver {
namespace {

// Words (with their dots) and single punctuation characters; comments and strings are left out.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::string_view next() {
    skip_blank();
    if (text_.empty()) return {};
    std::size_t length = 0;
    while (length < text_.size() && is_word(text_[length])) ++length;
    return take(std::max<std::size_t>(length, 1));
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' ||
           c == '%';
  }

  std::string_view take(std::size_t length) {
    const std::string_view taken = text_.substr(0, length);
    text_.remove_prefix(std::min(length, text_.size()));
    return taken;
  }
  void skip_behind(std::string_view end) {
    const std::size_t at = text_.find(end, 2);
    take(at == text_.npos ? text_.size() : at + end.size());
  }
  void skip_blank() {
    for (;;) {
      if (text_.empty()) return;
      if (std::isspace(static_cast<unsigned char>(text_.front())) != 0)
        take(1);
      else if (text_.starts_with("//"))
        skip_behind("\n");
      else if (text_.starts_with("/*"))
        skip_behind("*/");
      else
        return;
    }
  }

  std::string_view text_;
};

template <class Number>
Number number(std::string_view word) {
  Number value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

std::size_t type_bytes(std::string_view word) {
  if (word.size() < 3 || word[0] != '.' || std::string_view("busf").find(word[1]) == word.npos)
    return 0;
  return number<std::size_t>(word.substr(2)) / 8;
}

// "(.param .align 64 .b8 p_0[256], .param .u64 .ptr .align 1 p_1)", its first word already taken.
std::vector<Signature::Parameter> read_parameters(Words& words) {
  std::vector<Signature::Parameter> parameters;
  std::size_t end = 0;
  for (std::string_view word = words.next(); !word.empty() && word != ")";) {
    std::size_t alignment = 0, element = 0, count = 1;
    bool is_pointee = false;
    for (; !word.empty() && word != "," && word != ")"; word = words.next()) {
      if (word == ".ptr")
        is_pointee = true;
      else if (word == ".align" && !is_pointee)
        alignment = number<std::size_t>(words.next());
      else if (word == "[")
        count = number<std::size_t>(words.next());
      else if (const std::size_t bytes = type_bytes(word); bytes != 0 && element == 0)
        element = bytes;
    }
    if (word == ",") word = words.next();
    if (element == 0) continue;
    alignment = std::max({alignment, element, std::size_t{1}});
    const std::size_t offset = (end + alignment - 1) / alignment * alignment;
    parameters.push_back({offset, element * count});
    end = offset + element * count;
  }
  return parameters;
}

// Up to three numbers with commas between them; returns the word behind.
std::string_view read_three(Words& words, std::uint32_t (&three)[3]) {
  std::fill_n(three, 3, 1u);
  std::string_view word;
  for (std::uint32_t& value : three) {
    value = number<std::uint32_t>(words.next());
    if (word = words.next(); word != ",") break;
  }
  return word;
}

Signature read_kernel(Words& words) {
  Signature kernel;
  kernel.name = words.next();
  for (std::string_view word = words.next(); !word.empty() && word != "{" && word != ";";) {
    std::uint32_t threads[3];
    if (word == "(") {
      kernel.parameters = read_parameters(words);
    } else if (word == ".maxntid" || word == ".reqntid") {
      word = read_three(words, threads);
      kernel.max_threads = static_cast<int>(threads[0] * threads[1] * threads[2]);
      continue;
    } else if (word == ".reqnctapercluster") {
      word = read_three(words, kernel.cluster);
      continue;
    } else if (word == ".maxnreg") {
      kernel.max_registers = number<int>(words.next());
    }
    word = words.next();
  }
  return kernel;
}

}  // namespace

Ptx read_ptx(std::string_view text) {
  Ptx ptx;
  Words words(text);
  if (words.next() != ".version") return ptx;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".target" && ptx.target.empty()) ptx.target = words.next();
    if (word == ".entry") ptx.kernels.push_back(read_kernel(words));
  }
  return ptx;
}

bool runs_on(std::string_view target, int cc_major, int cc_minor) {
  if (!target.starts_with("sm_")) return false;
  target.remove_prefix(3);
  const int sm = number<int>(target), device = 10 * cc_major + cc_minor;
  if (target.ends_with('a')) return sm == device;
  if (target.ends_with('f')) return sm / 10 == cc_major && sm <= device;
  return sm <= device;
}

}  // namespace bwgemm::vgpu::driver
