// SPDX-License-Identifier: Apache-2.0
// LogFile: where lines of the log go. Whatever stands behind the name, writing to it does not wait,
// signal or end the process, and programs that it starts do not inherit the file.
#pragma once

#include <string>
#include <string_view>

namespace bwgemm {

// Never closed: calls may be logged until the process ends.
class LogFile {
 public:
  // Standard error.
  LogFile() = default;
  // The file of this name, which is made where there is none; its folder is not. Sets errno if
  // the file cannot be opened.
  explicit LogFile(const std::string& path);

  explicit operator bool() const { return descriptor_ >= 0; }
  // A line that cannot be written at once is lost, as a whole or from some byte on.
  void write(std::string_view line) const noexcept;

 private:
  int descriptor_ = 2;
};

}  // namespace bwgemm
