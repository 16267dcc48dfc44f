// SPDX-License-Identifier: Apache-2.0
// The file that lists calls which bwgemm is to serve, and calls which cuBLAS is to compute. About a
// call that is not listed the policy decides. The file has the columns of the log, of which it
// needs those of `chosen_columns`. bwgemm-tune writes such files, with the columns `serve` and
// `device`; a log is one too.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dropin/call.h"

namespace bwgemm::dropin {

inline constexpr std::array chosen_columns = {"function", "transa",   "transb",  "m",     "n",
                                              "k",        "Atype",    "Btype",   "Ctype", "Dtype",
                                              "orders",   "epilogue", "compute", "batch"};

// What a file says of a call.
enum class Listed : std::uint8_t { no, to_forward, to_serve };

class Chosen {
 public:
  // The text of a file. False, and nothing is listed, if it lacks a column or a line is not like
  // the first one; `why` says so.
  bool read(const std::string& text, std::string& why);

  bool is_empty() const { return lines_.empty(); }
  // What find() takes for the device of that name: -1 if no line is for it.
  std::int64_t device(const std::string& name) const;
  // A call that two lines list is to be served only if both say so.
  Listed find(const Call& call, std::int64_t device) const;

 private:
  static constexpr std::size_t count = chosen_columns.size();
  using Key = std::array<std::int64_t, count + 1>;  // the columns, then the device
  struct Line {
    Key key;
    Listed listed;
  };
  // Where a line has the columns. `none`: the file has no such column.
  static constexpr auto none = static_cast<std::size_t>(-1);
  struct Places {
    std::array<std::size_t, count> columns{};
    std::size_t serve = none, device = none, outcome = none;
  };
  static Key key_of(const Call& call, std::int64_t device);
  bool add(const std::vector<std::string>& fields, const Places& places);

  std::vector<Line> lines_;           // in order of keys
  std::vector<std::string> devices_;  // a line's device is a place here; empty: lines are for all
};

// The calls of the file that the environment names; none if it names none. None too if results are
// to be batch invariant: the two sides round differently, and the file chooses one by m and n.
const Chosen& chosen();

// chosen().device(), of the device of the thread's context. If the file lists other devices only,
// standard error says so once.
std::int64_t chosen_device();

}  // namespace bwgemm::dropin
