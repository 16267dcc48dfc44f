// SPDX-License-Identifier: Apache-2.0
// Table: a CSV file that this program, or a person, wrote: a header, rows, comment lines; and the
// one way in which rows are written.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fields.h"

namespace bwgemm::bench {

class Table {
 public:
  // A last row without its line's end is dropped if `complete_rows`: its writer was cut off. Throw
  // std::runtime_error naming file and line.
  static Table read(const std::string& path, bool complete_rows = false);
  static Table parse(const std::string& text, const std::string& path, bool complete_rows = false);

  const std::string& path() const { return path_; }
  std::size_t rows() const { return rows_.size(); }
  bool has(const std::string& column) const { return columns_.contains(column); }
  std::vector<std::string> columns() const;
  // Throw std::runtime_error if there is no such column.
  const std::string& text(std::size_t row, const std::string& column) const;
  double number(std::size_t row, const std::string& column) const;
  // The cells of the columns that `known`, a list "key key key", names.
  Fields fields(std::size_t row, const std::string& known) const;

 private:
  std::string path_;
  std::map<std::string, std::size_t> columns_;  // in lower case
  std::vector<std::vector<std::string>> rows_;
};

std::string lower_case(std::string text);

}  // namespace bwgemm::bench
