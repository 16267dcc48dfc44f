// SPDX-License-Identifier: Apache-2.0
// The file of the tuning cache: a first line that says what it is, then a line for each entry, the
// oldest first, each with a checksum of its own. It is only ever replaced as a whole, so that
// readers see a state that some writer left; writers take turns by a lock on its folder.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bwgemm {

// Words without white space. The first three are the key.
struct TuningEntry {
  std::string build, device, problem;
  std::string kernel;
  int tile_n = 0, splits = 1;
  std::string raster, operands;

  bool has_key_of(const TuningEntry& other) const {
    return build == other.build && device == other.device && problem == other.problem;
  }
  bool operator==(const TuningEntry&) const = default;
};

// Without the end of the line.
std::string tuning_line(const TuningEntry& entry);
// Nothing if the line is not as tuning_line() makes it.
std::optional<TuningEntry> tuning_entry(std::string_view line);

inline constexpr std::size_t max_tuning_entries = 4096;
inline constexpr std::size_t max_tuning_bytes = std::size_t{4} << 20;

struct TuningContent {
  std::vector<TuningEntry> entries;
  int corrupt = 0;    // lines that are none
  std::string error;  // why the file cannot be used; nothing is read then
};

// A file that does not exist, or is empty, has no entries. What is not of this kind is an error.
TuningContent read_tuning_file(const std::string& path);

enum class SameKey { is_replaced, stays };

// Puts the entries into the file, in place of those with the same keys or unless there are such;
// corrupt lines go, and the oldest entries beyond the most. Returns "" or why it did not: then the
// file is as it was.
std::string add_to_tuning_file(const std::string& path, std::span<const TuningEntry> entries,
                               SameKey same_key = SameKey::is_replaced);

}  // namespace bwgemm
