// SPDX-License-Identifier: Apache-2.0
// What mode check compares: the matrices and vectors that a call writes.
#pragma once

#include <string>
#include <vector>

#include "dropin/compare.h"

namespace bwgemm::dropin {

enum class Written : std::uint8_t { result, aux, bias_gradient };

// One of them. `call` computes it alone, as its output: aux is what the activation is applied to, a
// bias gradient is a matrix of one column.
struct Output {
  Written what;
  Call call;
};

std::vector<Output> outputs_of(const Call& call);

// The call with its aux or its bias gradient elsewhere. Its result is given to multiply().
Call redirected(const Call& call, Written what, void* to);

// The matrix that a bias gradient adds up, as the call's operand of `rows` x `columns`.
struct Summed {
  Operand operand;
  std::int64_t rows, columns;
  bool by_columns;  // one sum for each column, otherwise for each row
};
Summed summed_of(const Call& call);

// Empty if both bias gradients are the sums of what they add up: `ours` of `our_terms`.
std::string judge_gradient(const Call& call, const HostMatrix& ours, const HostMatrix& our_terms,
                           const HostMatrix& theirs, const HostMatrix& their_terms);

}  // namespace bwgemm::dropin
