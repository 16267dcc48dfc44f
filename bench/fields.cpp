// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <charconv>
#include <stdexcept>

namespace bwgemm::bench {

namespace {

// Independent of the locale.
template <class Number>
Number number(const std::string& what, const std::string& text, const char* kind) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    throw std::runtime_error(what + " is '" + text + "', which is not " + kind);
  return value;
}

bool lists(const std::string& known, const std::string& key) {
  return key.find(' ') == std::string::npos &&
         (" " + known + " ").find(" " + key + " ") != std::string::npos;
}

}  // namespace

std::int64_t whole_number(const std::string& what, const std::string& text) {
  return number<std::int64_t>(what, text, "a whole number");
}

double real_number(const std::string& what, const std::string& text) {
  return number<double>(what, text, "a number");
}

float single_number(const std::string& what, const std::string& text) {
  return number<float>(what, text, "a number");
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == separator && !quoted)
      parts.emplace_back();
    else if (c != '\r')
      parts.back() += c;
  }
  return parts;
}

void Fields::set(const std::string& known, const std::string& key, const std::string& value) {
  if (!lists(known, key))
    throw std::runtime_error("unknown key '" + key + "'; known are: " + known);
  if (!values_.emplace(key, value).second)
    throw std::runtime_error("key '" + key + "' is given twice");
}

std::string Fields::text(const std::string& key, const std::string& fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() || found->second.empty() ? fallback : found->second;
}

std::int64_t Fields::whole(const std::string& key, std::int64_t fallback) const {
  const std::string value = text(key, "");
  return value.empty() ? fallback : whole_number(key, value);
}

float Fields::single(const std::string& key, float fallback) const {
  const std::string value = text(key, "");
  return value.empty() ? fallback : single_number(key, value);
}

std::int64_t Fields::required_whole(const std::string& key) const {
  const std::string value = text(key, "");
  if (value.empty()) throw std::runtime_error(key + " is missing");
  return whole_number(key, value);
}

}  // namespace bwgemm::bench
