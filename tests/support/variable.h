// SPDX-License-Identifier: Apache-2.0
// Variable: an environment variable for the length of a scope, which leaves it as it was.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace bwgemm::test {

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace bwgemm::test
