// SPDX-License-Identifier: Apache-2.0
// Error: the one exception type of the library. It is thrown anywhere below the C entries and ends
// in api/guard, which turns it into a status and the thread's last-error text.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "bwgemm/bwgemm.h"

namespace bwgemm {

class Error : public std::exception {
 public:
  Error(bwgemmStatus_t status, std::string message)
      : status_(status), message_(std::move(message)) {}

  bwgemmStatus_t status() const { return status_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  bwgemmStatus_t status_;
  std::string message_;
};

}  // namespace bwgemm
