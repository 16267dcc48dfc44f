// SPDX-License-Identifier: Apache-2.0
// Constants: what is fitted of the cost model, in place: the table of Hopper's costs, which this
// program has changeable.
#pragma once

#include <string>
#include <vector>

namespace bwgemm::bench {

struct Constant {
  std::string name;
  double* value;
  double width;  // of its logarithm: how far it may easily go from where it starts
  double start;

  double moved() const;  // widths
};

std::vector<Constant> fitted_constants();

// Constants begin at the values of a file instead of at the library's: lines of a name and a value,
// `#` begins a comment. What it does not name stays. Throws std::runtime_error.
void start_from(std::vector<Constant>& constants, const std::string& path);

}  // namespace bwgemm::bench
