// SPDX-License-Identifier: Apache-2.0
// Mutations: small wrong changes of a kernel's PTX that a programmer could have made: a statement
// too few, another parity, count, address or mask, weaker semantics, another order. What each one
// is called is what survivors.txt and the report go by.
#pragma once

#include <string>
#include <vector>

#include "kernels_on_vgpu/mutate/ptx_source.h"

namespace bwgemm::vgpu::mutate {

inline constexpr const char* no_wait = "no wait";
inline constexpr const char* no_retry = "no retry";  // a wait that asks once

struct Mutation {
  std::string operation;  // "delete", "parity", ...
  std::string change;     // which of the operation's, such as "+8"; may be empty
  std::size_t statement;  // whose execution decides whether the mutation can matter
  std::vector<PtxSource::Edit> edits;
};

// All of them, in the order of the text. They need not decode.
std::vector<Mutation> mutations_of(const PtxSource& source);

}  // namespace bwgemm::vgpu::mutate
