// SPDX-License-Identifier: Apache-2.0
// Options: the command line of bwgemm_fuzz.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "execute.h"

namespace bwgemm::fuzz {

struct Options {
  std::uint64_t seed = 1;  // --seed N: of the first case; the next one has N + 1
  std::int64_t cases = std::numeric_limits<std::int64_t>::max();  // --calls N
  double seconds = 0;            // --seconds T: start no case after that; 0: no limit
  std::string replay;            // --replay TEXT: this case alone
  bool shrink = false;           // --shrink
  bool list = false;             // --list: print the cases, run nothing
  Damage damage = Damage::none;  // --self-test element|row|aux|gradient
  std::string self_test;         // the word
};

std::string usage();

// Throws std::runtime_error naming the argument.
Options parse_options(int count, const char* const* arguments);

}  // namespace bwgemm::fuzz
