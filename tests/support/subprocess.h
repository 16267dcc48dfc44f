// SPDX-License-Identifier: Apache-2.0
// Runs a test of this binary in a process of its own: for what a process does only once (opening
// the driver, reading the environment, the very first call).
#pragma once

#include <map>
#include <string>

namespace bwgemm::test {

struct ProcessResult {
  int exit_code;       // -1: ended by a signal
  std::string output;  // stdout and stderr
  bool passed() const { return exit_code == 0; }
};

// Runs the (disabled) tests that match `filter`; `variables` are set, or unset where empty.
// `program`: another file to run, by default this one.
ProcessResult run_self(const std::string& filter,
                       const std::map<std::string, std::string>& variables = {},
                       const std::string& program = "/proc/self/exe");

}  // namespace bwgemm::test
