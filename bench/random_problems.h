// SPDX-License-Identifier: Apache-2.0
// random_problems: problems as models make them, and odd ones, to judge selection by what it was
// not fitted to. The same seed gives the same list everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "problem.h"

namespace bwgemm::bench {

// A problem list (problem.h) in the row-major view: header and rows.
std::string random_problem_list(std::uint64_t seed, int count);
// The same from all over what a user can ask for, sizes evenly spread over their logarithms: M and
// N from 1 to 64k, k from 8 to 64k, at most 2e13 operations; odd and even, all layouts and types,
// batches, epilogues.
std::string space_problem_list(std::uint64_t seed, int count);
// Problems that training and serving ask for: layers forward and both gradients, for any number of
// tokens; attention whose sequences have any length; few columns or a short k beside many rows.
std::string training_problem_list(std::uint64_t seed, int count);

struct RandomProblems {
  std::string_view name;  // on the command line, behind the count; empty for the first
  std::string (*list)(std::uint64_t seed, int count);
};
inline constexpr RandomProblems random_problems[] = {
    {"", random_problem_list}, {"space", space_problem_list}, {"training", training_problem_list}};

}  // namespace bwgemm::bench
