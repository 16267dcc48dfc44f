// SPDX-License-Identifier: Apache-2.0
// Fields: the cells of a CSV row or the key=value pairs of a text, by lower-case key, read as text
// or numbers. What a key means is its reader's business.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bwgemm::bench {

// All of it must be the number. Throw std::runtime_error quoting `what` and the text.
std::int64_t whole_number(const std::string& what, const std::string& text);
double real_number(const std::string& what, const std::string& text);
float single_number(const std::string& what, const std::string& text);

// Cells of a line; double quotes around a cell protect separators in it and are dropped.
std::vector<std::string> split(const std::string& line, char separator);

class Fields {
 public:
  // `known` is a list "key key key". Throws std::runtime_error if `key` is not in it or set
  // already.
  void set(const std::string& known, const std::string& key, const std::string& value);

  // An empty value counts as none. Throw std::runtime_error naming the key.
  std::string text(const std::string& key, const std::string& fallback) const;
  std::int64_t whole(const std::string& key, std::int64_t fallback) const;
  float single(const std::string& key, float fallback) const;
  std::int64_t required_whole(const std::string& key) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace bwgemm::bench
