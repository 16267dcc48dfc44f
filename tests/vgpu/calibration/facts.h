// SPDX-License-Identifier: Apache-2.0
// Facts: a committed file of what a device answered. One line each,
//   name | answer | date | virtual | command
// where `virtual` is "same", or the reason why the virtual GPU may answer otherwise; an answer that
// no device gave yet is "open".
#pragma once

#include <string>
#include <vector>

namespace bwgemm::calibration {

struct Fact {
  std::string name, answer, date, on_virtual = "same", command;
};

class Facts {
 public:
  explicit Facts(const std::string& path);  // without a file there are none

  const std::vector<Fact>& all() const { return facts_; }
  const Fact* find(const std::string& name) const;
  void set(const Fact& fact);  // keeps what is said of the virtual GPU
  void write(const std::string& path) const;

 private:
  std::vector<std::string> comments_;
  std::vector<Fact> facts_;
};

// A line without bars and line ends.
std::string clean(std::string text);

}  // namespace bwgemm::calibration
