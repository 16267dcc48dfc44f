// SPDX-License-Identifier: Apache-2.0
// PtxRoles: the text of a module, line by line, with the names of the CUDA functions that each line
// was inlined from. Tests name an instruction by its opcode and its role, such as the try_wait
// that run_producer gets from wait_empty: that holds while registers, lines and unrolling change.
#pragma once

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace bwgemm::vgpu {

struct PtxLine {
  std::string text;
  std::string role;  // mangled names, innermost first; empty: the compiler's own
  // Of an instruction that stands on this line alone; empty otherwise.
  std::string guard, opcode, operands;
};

class PtxRoles {
 public:
  explicit PtxRoles(const std::string& ptx) {
    std::istringstream text(ptx);
    for (std::string line; std::getline(text, line);) lines_.push_back({line, "", "", "", ""});
    read_names();
    read_roles();
    for (PtxLine& line : lines_) read_instruction(line);
  }

  std::vector<PtxLine>& lines() { return lines_; }

  std::string ptx() const {
    std::string text;
    for (const PtxLine& line : lines_) text.append(line.text).append(1, '\n');
    return text;
  }

 private:
  // Strings of the debug section are lists of bytes behind a label.
  void read_names() {
    std::string* name = nullptr;
    for (const PtxLine& line : lines_) {
      if (line.text.starts_with("$L__info_string")) {
        name = &names_[line.text.substr(0, line.text.find(':'))];
      } else if (name != nullptr && line.text.starts_with(".b8 ")) {
        std::istringstream bytes(line.text.substr(4));
        for (int byte; bytes >> byte; bytes.ignore(1))
          if (byte != 0) *name += static_cast<char>(byte);
      }
    }
  }

  // .loc <file> <line> <column>[, function_name <label>, inlined_at <file> <line> <column>]
  void read_roles() {
    std::map<std::string, std::string> roles;  // by position
    std::string role;
    for (PtxLine& line : lines_) {
      std::istringstream words(line.text);
      std::string directive;
      words >> directive;
      if (directive == ".loc") {
        const std::string position = read_position(words);
        std::string word, name;
        role.clear();
        if (words >> word >> name >> word && word == "inlined_at" && !name.empty()) {
          name.pop_back();  // the comma
          role = names_[name] + ' ' + roles[read_position(words)];
        }
        roles[position] = role;
      }
      line.role = role;
    }
  }

  static std::string read_position(std::istringstream& words) {
    int file = 0, line = 0, column = 0;
    words >> file >> line;
    words >> column;  // a comma may follow it
    words.clear();
    if (words.peek() == ',') words.ignore(1);
    return std::to_string(file)
        .append(":")
        .append(std::to_string(line))
        .append(":")
        .append(std::to_string(column));
  }

  static void read_instruction(PtxLine& line) {
    const std::size_t end = line.text.find(';');
    std::size_t at = line.text.find_first_not_of(" \t");
    if (end == std::string::npos ||
        line.text.find_first_not_of(" \t", end + 1) != std::string::npos)
      return;
    if (line.text[at] == '@') {
      const std::size_t behind = line.text.find_first_not_of(" \t", line.text.find(' ', at));
      if (behind >= end) return;
      line.guard = line.text.substr(at, behind - at);
      at = behind;
    }
    if (line.text[at] < 'a' || line.text[at] > 'z') return;
    const std::size_t opcode_end = std::min(line.text.find_first_of(" \t", at), end);
    line.opcode = line.text.substr(at, opcode_end - at);
    const std::size_t operands = line.text.find_first_not_of(" \t", opcode_end);
    line.operands = line.text.substr(operands, end - operands);
  }

  std::vector<PtxLine> lines_;
  std::map<std::string, std::string> names_;
};

}  // namespace bwgemm::vgpu
