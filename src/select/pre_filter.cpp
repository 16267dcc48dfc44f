// SPDX-License-Identifier: Apache-2.0
#include "select/pre_filter.h"

#include "rules/output_path.h"

namespace bwgemm {

// Transposing exchanges operands and the orders of both: what lies along k still does.
PreFilter::PreFilter(const Problem& given, const DeviceFacts& facts)
    : given_(given),
      arch_(facts.arch()),
      a_{a_major(given),
         fits_map(given.a, a_major(given) == Major::k ? given.m : given.k, given.batch)},
      b_{b_major(given),
         fits_map(given.b, b_major(given) == Major::k ? given.n : given.k, given.batch)} {}

}  // namespace bwgemm
