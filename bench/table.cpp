// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace bwgemm::bench {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Table Table::read(const std::string& path, bool complete_rows) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return parse(text.str(), path, complete_rows);
}

Table Table::parse(const std::string& text, const std::string& path, bool complete_rows) {
  Table table;
  table.path_ = path;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (complete_rows && lines.eof()) break;
    std::vector<std::string> cells = split(line, ',');
    if (cells[0].starts_with('#') || (cells.size() == 1 && cells[0].empty())) continue;
    if (table.columns_.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) table.columns_[lower_case(cells[i])] = i;
    } else if (cells.size() == table.columns_.size()) {
      table.rows_.push_back(std::move(cells));
    } else {
      std::ostringstream what;
      what << path << ":" << number << ": " << cells.size() << " cells below a header of "
           << table.columns_.size();
      throw std::runtime_error(what.str());
    }
  }
  return table;
}

std::vector<std::string> Table::columns() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : columns_) names.push_back(name);
  return names;
}

const std::string& Table::text(std::size_t row, const std::string& column) const {
  const auto found = columns_.find(column);
  if (found == columns_.end()) throw std::runtime_error(path_ + " has no column " + column);
  return rows_[row][found->second];
}

double Table::number(std::size_t row, const std::string& column) const {
  return real_number(column, text(row, column));
}

Fields Table::fields(std::size_t row, const std::string& known) const {
  Fields fields;
  std::istringstream keys(known);
  for (std::string key; keys >> key;)
    if (has(key)) fields.set(known, key, text(row, key));
  return fields;
}

}  // namespace bwgemm::bench
