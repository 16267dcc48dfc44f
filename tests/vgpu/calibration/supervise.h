// SPDX-License-Identifier: Apache-2.0
// Runs cases in child processes of this program, so that a lost context, a crash or a hang costs
// one answer and no more.
#pragma once

#include <string>
#include <vector>

namespace bwgemm::calibration {

struct Limits {
  double case_seconds = 20;  // then the child is killed
  double total_seconds = 600;
  int jobs = 1;
};

struct Reply {
  std::string name, answer, detail;
};

// Answers of all cases of these questions; a case that gave none says why. `print` sees each as it
// comes.
std::vector<Reply> supervise(const std::vector<int>& questions, const std::string& raw_path,
                             const Limits& limits, void (*print)(const Reply&));

// What the children do: the cases of a question from `first` on, until one loses the context.
// Returns the exit status.
int serve(int question, int first, const std::string& raw_path);

}  // namespace bwgemm::calibration
