// SPDX-License-Identifier: Apache-2.0
// What the filter passes over has a reason to be: selection without it would choose the same.
#include <cstddef>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "families/registry.h"
#include "families/variants.h"
#include "problems.h"
#include "select/candidate.h"

namespace bwgemm {
namespace {

using test::address, test::in_odd_lines, test::kk, test::kn, test::mk, test::mn, test::problem_of;

// Squares, flat and tall ones; aligned, and not in A, in B or in both.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const auto majors : {kk, kn, mk, mn})
    for (const auto& [m, n] : {std::pair{512, 512}, std::pair{8, 1024}, std::pair{1024, 8}})
      for (const int batch : {1, 4}) {
        all.push_back(problem_of(m, n, 256, majors, {}, batch));
        all.push_back(in_odd_lines(m, n, 256, majors, batch));
        Problem a_is_odd = problem_of(m, n, 256, majors, {}, batch), b_is_odd = a_is_odd;
        a_is_odd.a.data = address(0x100000002);
        b_is_odd.b.batch_stride += 1;
        all.push_back(a_is_odd);
        all.push_back(b_is_odd);
      }
  return all;
}

TEST(PreFilter, PassesOverNothingThatCanServe) {
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200})
    for (const Problem& problem : problems()) {
      const PreFilter filter(problem, facts);
      for (const KernelConfig& row : kernel_variants)
        if (!filter.may_serve(row)) {
          EXPECT_NE(rejects(problem, facts, row), nullptr) << kernel_name(row).view();
        }
    }
}

TEST(PreFilter, PassesOverMostRows) {
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200}) {
    const Problem aligned = problem_of(512, 512, 512), odd = in_odd_lines(511, 511, 511);
    std::size_t of_aligned = 0, of_odd = 0;
    for (const KernelConfig& row : kernel_variants) {
      of_aligned += PreFilter(aligned, facts).may_serve(row);
      of_odd += PreFilter(odd, facts).may_serve(row);
    }
    EXPECT_LT(of_aligned, kernel_variants.size() / 2);
    EXPECT_LT(of_odd, kernel_variants.size() / 8);
  }
}

}  // namespace
}  // namespace bwgemm
