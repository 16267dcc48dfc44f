// SPDX-License-Identifier: Apache-2.0
// error_of: what a call throws, for tests that look into it; the test fails if it throws nothing.
#pragma once

#include <gtest/gtest.h>

#include "bwgemm/bwgemm.h"

namespace bwgemm::test {

template <class Error, class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {BWGEMM_STATUS_SUCCESS, ""};
}

}  // namespace bwgemm::test
