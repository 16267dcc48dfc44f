// SPDX-License-Identifier: Apache-2.0
// Cases: what is asked of a device, one line of answer each. A case runs in a child process that
// may die of it; what it says must not depend on chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vgpu/calibration/device.h"

namespace bwgemm::calibration {

struct Answer {
  std::string text;
  std::string detail = {};  // for the reader; not compared
};

// Measurements for those who fit models later: sections "name, bytes" one behind the other in a
// file that several processes append to. Without a file they are dropped.
class RawData {
 public:
  explicit RawData(std::string path) : path_(std::move(path)) {}
  void add(const std::string& name, const void* data, std::size_t bytes) const;
  template <class T>
  void add(const std::string& name, const std::vector<T>& values) const {
    add(name, values.data(), values.size() * sizeof(T));
  }

 private:
  std::string path_;
};

struct Case {
  std::string name;  // begins with the number of the question and a dot
  std::function<Answer(Device&, const RawData&)> ask;
};

std::vector<Case> wait_cases();
std::vector<Case> address_cases();
std::vector<Case> sum_cases();
std::vector<Case> operand_cases();
std::vector<Case> box_cases();
std::vector<Case> transaction_cases();
std::vector<Case> election_cases();
std::vector<Case> fragment_cases();
std::vector<Case> multicast_cases();
std::vector<Case> fault_cases();

std::uint64_t hash_of(const void* data, std::size_t bytes);
template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  return hash_of(values.data(), values.size() * sizeof(T));
}
std::string hexadecimal(std::uint64_t value);
std::string joined(const std::vector<std::string>& words);

}  // namespace bwgemm::calibration
