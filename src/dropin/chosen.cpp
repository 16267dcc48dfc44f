// SPDX-License-Identifier: Apache-2.0
#include "dropin/chosen.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == separator)
      parts.emplace_back();
    else if (letter != '\r')
      parts.back() += letter;
  }
  return parts;
}

// The entry's number if the field names a function; otherwise the number that the field holds.
bool number_of(const std::string& field, std::int64_t& number) {
  for (const Entry entry : all_entries)
    if (field == name(entry)) {
      number = static_cast<std::int64_t>(entry);
      return true;
    }
  const char* const end = field.data() + field.size();
  const auto [read_to, error] = std::from_chars(field.data(), end, number);
  return error == std::errc{} && read_to == end;
}

std::string missing(const char* column) {
  std::string text = "it has no column ";
  return text.append(column);
}

std::string bad_line(std::size_t line) {
  std::string text = "line ";
  return text.append(std::to_string(line)).append(" is not like the first one");
}

// False if there is no such file, or not as a file that can be read.
bool read_file(const std::string& path, std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  char buffer[4096];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, size);
  const bool is_good = std::ferror(file) == 0;
  std::fclose(file);
  return is_good;
}

}  // namespace

Chosen::Key Chosen::key_of(const Call& call) {
  return {static_cast<std::int64_t>(call.entry),
          call.transa,
          call.transb,
          call.m,
          call.n,
          call.k,
          call.a.type,
          call.b.type,
          call.c.type,
          call.output().type,
          orders_of(call),
          call.epilogue.kind,
          call.compute,
          call.batch};
}

bool Chosen::add(const std::vector<std::string>& fields, const Places& places) {
  Key key{};
  for (std::size_t column = 0; column < places.size(); ++column)
    if (!number_of(fields[places[column]], key[column])) return false;
  keys_.push_back(key);
  return true;
}

bool Chosen::read(const std::string& text, std::string& why) {
  keys_.clear();
  const std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> heads = split(lines.front(), ',');
  Places places{};
  for (std::size_t column = 0; column < places.size(); ++column) {
    const auto head = std::find(heads.begin(), heads.end(), chosen_columns[column]);
    if (head == heads.end()) {
      why = missing(chosen_columns[column]);
      return false;
    }
    places[column] = static_cast<std::size_t>(head - heads.begin());
  }
  for (std::size_t line = 1; line < lines.size(); ++line) {
    if (lines[line].empty()) continue;
    const std::vector<std::string> fields = split(lines[line], ',');
    if (fields.size() == heads.size() && add(fields, places)) continue;
    keys_.clear();
    why = bad_line(line + 1);
    return false;
  }
  std::sort(keys_.begin(), keys_.end());
  return true;
}

bool Chosen::has(const Call& call) const {
  return std::binary_search(keys_.begin(), keys_.end(), key_of(call));
}

const Chosen& chosen() {
  static const Chosen* const once = [] {
    auto* const read = new Chosen;
    const std::string& path = settings().chosen_file;
    if (path.empty()) return read;
    std::string text, why = "it cannot be read";
    if (read_file(path, text) && read->read(text, why)) return read;
    std::string line = "no call is served, because of BWGEMM_CUBLAS_CHOSEN, ";
    say(line.append(path).append(": ").append(why));
    return read;
  }();
  return *once;
}

}  // namespace bwgemm::dropin
