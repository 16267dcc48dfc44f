// SPDX-License-Identifier: Apache-2.0
// Policy `faster`: which calls that no file lists bwgemm serves. Those of which the model of cuBLAS
// (peer.h) says that bwgemm is faster, on kinds of devices on which that was tried.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "dropin/call.h"

namespace bwgemm::dropin {

struct Handle;

// Whether problems were timed by both libraries on the device of the thread's context, or on one
// that has the same numbers.
bool is_measured_device();

// What was decided of the kinds of calls of one handle.
class Decisions {
 public:
  // The same for equal calls, of which addresses count as far as they are multiples of 128. The
  // first call of a kind asks bwgemm what it would do. `known`: what known() said, if it was asked.
  // handle.mutex must be held.
  bool serves(Handle& handle, const Call& call, const CallSettings& settings,
              std::optional<bool> known);
  // What was decided of equal calls, whose scalars must lie on the host. A call that was left is
  // left whatever the handle is set to. handle.mutex must be held.
  std::optional<bool> known(const Call& call, std::size_t workspace) const;

 private:
  static constexpr std::size_t most = 4096;  // then all are forgotten
  using Kind = std::array<std::int64_t, 14>;
  struct Hash {
    std::size_t operator()(const Kind& kind) const;
  };
  static Kind kind_of(const Call& call, std::size_t workspace);

  std::unordered_map<Kind, bool, Hash> known_;
};

}  // namespace bwgemm::dropin
