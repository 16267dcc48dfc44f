// SPDX-License-Identifier: Apache-2.0
// ScratchOutputs: a call's problem whose outputs lie in memory of their own, so that it can be
// computed any number of times and nothing of the caller's is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/problem.h"
#include "launch/device_buffer.h"

namespace bwgemm {

// A bias gradient beside the product takes the same time behind every kernel.
Problem without_sums(Problem problem);

class ScratchOutputs {
 public:
  // At least what the outputs take; a number that no device has if that is no number.
  static std::size_t bytes_of(const Problem& problem);

  ScratchOutputs(const Driver& driver, CUstream stream, const Problem& problem);

  // D and a stored aux have the layout and the alignment of the caller's; C is D if it was or if it
  // is not read. Nothing is summed beside it.
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
  std::vector<std::uintptr_t> pointers_;  // copied while the buffer lives
  DeviceBuffer buffer_;
};

}  // namespace bwgemm
