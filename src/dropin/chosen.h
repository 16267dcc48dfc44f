// SPDX-License-Identifier: Apache-2.0
// Policy faster: the calls of a file are served, others are not. The file has the columns of the
// log, of which it needs those of `chosen_columns`: lines of a log that the user found to be
// faster.
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

class Chosen {
 public:
  // The text of a file. False, and nothing is chosen, if it lacks a column or a line is not like
  // the first one; `why` says so.
  bool read(const std::string& text, std::string& why);
  bool has(const Call& call) const;

 private:
  using Places = std::array<std::size_t, chosen_columns.size()>;
  using Key = std::array<std::int64_t, chosen_columns.size()>;
  static Key key_of(const Call& call);
  bool add(const std::vector<std::string>& fields, const Places& places);

  std::vector<Key> keys_;  // in order
};

// The calls of the file that the environment names; none if it names none.
const Chosen& chosen();

}  // namespace bwgemm::dropin
