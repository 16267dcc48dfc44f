// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/facts.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace bwgemm::calibration {
namespace {

constexpr const char* bar = " | ";

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (std::size_t end; (end = line.find(bar, begin)) != std::string::npos; begin = end + 3)
    fields.push_back(line.substr(begin, end - begin));
  fields.push_back(line.substr(begin));
  return fields;
}

}  // namespace

Facts::Facts(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') {
      comments_.push_back(line);
      continue;
    }
    const auto fields = fields_of(line);
    if (fields.size() != 5) throw std::runtime_error(path + ": not a fact: " + line);
    facts_.push_back({fields[0], fields[1], fields[2], fields[3], fields[4]});
  }
}

const Fact* Facts::find(const std::string& name) const {
  const auto found = std::find_if(facts_.begin(), facts_.end(),
                                  [&](const Fact& fact) { return fact.name == name; });
  return found != facts_.end() ? &*found : nullptr;
}

void Facts::set(const Fact& fact) {
  for (Fact& other : facts_)
    if (other.name == fact.name) {
      other.answer = fact.answer;
      other.date = fact.date;
      other.command = fact.command;
      return;
    }
  facts_.push_back(fact);
}

void Facts::write(const std::string& path) const {
  std::ofstream file(path);
  for (const std::string& comment : comments_) file << comment << '\n';
  for (const Fact& fact : facts_)
    file << fact.name << bar << fact.answer << bar << fact.date << bar << fact.on_virtual << bar
         << fact.command << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string clean(std::string text) {
  for (char& c : text)
    if (c == '|' || c == '\n' || c == '\t' || c == '\r') c = ' ';
  return text;
}

}  // namespace bwgemm::calibration
