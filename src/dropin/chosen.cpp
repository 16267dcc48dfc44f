// SPDX-License-Identifier: Apache-2.0
#include "dropin/chosen.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>

#include "dropin/device.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

// Without carriage returns: programs for tables end lines as Windows does.
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
bool read_number(const std::string& field, std::int64_t& number) {
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

// Where the header has the column; Chosen::none if it lacks it.
std::size_t place_of(const std::vector<std::string>& heads, const char* column) {
  const auto head = std::find(heads.begin(), heads.end(), column);
  return head != heads.end() ? static_cast<std::size_t>(head - heads.begin())
                             : static_cast<std::size_t>(-1);
}

}  // namespace

Chosen::Key Chosen::key_of(const Call& call, std::int64_t device) {
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
          call.batch,
          device};
}

bool Chosen::add(const std::vector<std::string>& fields, const Places& places) {
  Line line{{}, Listed::to_serve};
  for (std::size_t column = 0; column < count; ++column)
    if (!read_number(fields[places.columns[column]], line.key[column])) return false;
  if (places.serve != none) {
    const std::string& serve = fields[places.serve];
    if (serve != "0" && serve != "1") return false;
    line.listed = serve == "1" ? Listed::to_serve : Listed::to_forward;
  }
  if (places.serve == none && places.outcome != none && fields[places.outcome] == "forwarded")
    line.listed = Listed::to_forward;
  if (places.device != none) {
    if (device(fields[places.device]) < 0) devices_.push_back(fields[places.device]);
    line.key.back() = device(fields[places.device]);
  }
  lines_.push_back(line);
  return true;
}

bool Chosen::read(const std::string& text, std::string& why) {
  *this = {};
  const std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> heads = split(lines.front(), ',');
  Places places{
      {}, place_of(heads, "serve"), place_of(heads, "device"), place_of(heads, "outcome")};
  for (std::size_t column = 0; column < count; ++column) {
    places.columns[column] = place_of(heads, chosen_columns[column]);
    if (places.columns[column] != none) continue;
    why = missing(chosen_columns[column]);
    return false;
  }
  for (std::size_t line = 1; line < lines.size(); ++line) {
    if (lines[line].empty()) continue;
    const std::vector<std::string> fields = split(lines[line], ',');
    if (fields.size() == heads.size() && add(fields, places)) continue;
    *this = {};
    why = bad_line(line + 1);
    return false;
  }
  std::sort(lines_.begin(), lines_.end(), [](const Line& one, const Line& other) {
    return one.key != other.key ? one.key < other.key : one.listed < other.listed;
  });
  return true;
}

std::int64_t Chosen::device(const std::string& name) const {
  const auto found = std::find(devices_.begin(), devices_.end(), name);
  if (found != devices_.end()) return found - devices_.begin();
  return devices_.empty() && !is_empty() ? 0 : -1;
}

Listed Chosen::find(const Call& call, std::int64_t device) const {
  if (is_empty()) return Listed::no;
  const Key key = key_of(call, device);
  const auto found =
      std::lower_bound(lines_.begin(), lines_.end(), key,
                       [](const Line& line, const Key& wanted) { return line.key < wanted; });
  return found != lines_.end() && found->key == key ? found->listed : Listed::no;
}

namespace {

void say_of_file(const std::string& what) {
  std::string line = "BWGEMM_CUBLAS_CHOSEN, ";
  say(line.append(settings().chosen_file).append(": ").append(what));
}

const Chosen* read_chosen() {
  auto* const read = new Chosen;
  const std::string& path = settings().chosen_file;
  std::string text, why = "it cannot be read";
  if (path.empty()) return read;
  if (settings().batch_invariant) {
    say_of_file("it is not obeyed, because results are to be batch invariant");
    return read;
  }
  if (read_file(path, text) && read->read(text, why)) return read;
  say_of_file(why.append(", so that it lists no call"));
  return read;
}

}  // namespace

const Chosen& chosen() {
  static const Chosen* const once = read_chosen();
  return *once;
}

std::int64_t chosen_device() {
  if (chosen().is_empty()) return -1;
  const std::string name = current_device_name();
  const std::int64_t found = chosen().device(name);
  static std::atomic<bool> said{false};
  if (found < 0 && !said.exchange(true)) {
    std::string what = "it lists no call for the device ";
    say_of_file(what.append(name));
  }
  return found;
}

}  // namespace bwgemm::dropin
