// SPDX-License-Identifier: Apache-2.0
// What choosing a kernel takes of the host, for each kind of problem: a call that is not known yet
// may spend 20 us on it. tests/support/quick.h says when that is judged.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/canonical_vectors.h"
#include "families/variants.h"
#include "problems.h"
#include "select/select.h"
#include "support/quick.h"

namespace bwgemm {
namespace {

using test::address, test::best_ns, test::in_odd_lines, test::judges_times, test::kk, test::kn,
    test::mk, test::mn, test::problem_of;

struct Kind {
  const char* name;
  std::function<Problem(std::int64_t)> problem;  // the i-th, from 1
  std::size_t workspace_bytes = 32 << 20;
};

Problem with_bias_and_gelu(Problem problem) {
  problem.epilogue.activation = Activation::gelu_tanh;
  problem.epilogue.column_bias = {address(0x400000000), Dtype::bf16, 0};
  return problem;
}

Problem with_gate(Problem problem) {
  problem.epilogue.activation = Activation::silu;
  problem.epilogue.gate = Gate::interleaved;
  return problem;
}

Problem onto_f32(Problem problem) {
  problem.d.type = problem.c.type = Dtype::f32;
  problem.beta.value = 1;
  return problem;
}

// TMA can load B only.
Problem with_odd_a(Problem problem) {
  problem.a.data = address(0x100000002);
  return problem;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"squares_kk", [](std::int64_t i) { return problem_of(256 * i, 256 * i, 256 * i); }},
      {"squares_kn", [](std::int64_t i) { return problem_of(256 * i, 256 * i, 256 * i, kn); }},
      {"squares_mk", [](std::int64_t i) { return problem_of(256 * i, 256 * i, 256 * i, mk); }},
      {"squares_mn", [](std::int64_t i) { return problem_of(256 * i, 256 * i, 256 * i, mn); }},
      {"no_workspace", [](std::int64_t i) { return problem_of(64 + 32 * i, 4096, 4096); }, 0},
      {"one_row", [](std::int64_t i) { return canonical_vectors(problem_of(1, 1024 * i, 4096)); }},
      {"eight_rows", [](std::int64_t i) { return problem_of(8, 1024 * i, 4096); }},
      {"one_column",
       [](std::int64_t i) { return canonical_vectors(problem_of(1024 * i, 1, 4096)); }},
      {"long_k", [](std::int64_t i) { return problem_of(64 * i, 256, 65536); }},
      {"batches", [](std::int64_t i) { return problem_of(128 + 8 * i, 128, 128, kk, {}, 64); }},
      {"bias_gelu",
       [](std::int64_t i) { return with_bias_and_gelu(problem_of(64 * i, 4096, 1024)); }},
      {"gates", [](std::int64_t i) { return with_gate(problem_of(64 * i, 4096, 1024)); }},
      {"f32_beta", [](std::int64_t i) { return onto_f32(problem_of(64 * i, 4096, 1024)); }},
      {"odd_kk", [](std::int64_t i) { return in_odd_lines(100 * i, 999, 1001); }},
      {"odd_mn", [](std::int64_t i) { return in_odd_lines(100 * i, 999, 1001, mn); }},
      {"odd_a", [](std::int64_t i) { return with_odd_a(problem_of(100 * i, 1000, 1000)); }},
      {"odd_batches", [](std::int64_t i) { return in_odd_lines(10 * i, 99, 101, kk, 32); }},
      {"odd_divided",
       [](std::int64_t i) { return with_odd_a(problem_of(8192, 8192, 4096 + 64 * i)); }},
      {"odd_few_rows", [](std::int64_t i) { return in_odd_lines(8, 1000 * i, 4097); }},
  };
  return all;
}

double best_ns_of(const Kind& kind, const DeviceFacts& facts) {
  constexpr int count = 16, rounds = 100;
  std::vector<Problem> problems;
  for (int i = 1; i <= count; ++i) problems.push_back(kind.problem(i));
  SelectOptions options;
  options.workspace_bytes = kind.workspace_bytes;
  double sum = 0;
  const double ns = best_ns(rounds, count, [&] {
    for (const Problem& problem : problems)
      sum += select(problem, facts, kernel_variants, options).predicted_us;
  });
  EXPECT_GT(sum, 0);
  return ns;
}

// Blackwell's slowest kind takes 13 us, the mean is 9. Hopper's take 17 and 12: too much on average
// (bench/log/2026-11-29.md).
TEST(Select, IsQuick) {
  constexpr double budget_ns = 20e3, mean_ns = 10e3;
  for (const DeviceFacts& facts : {nominal_h200, nominal_b200}) {
    const std::string device = facts.arch() == Arch::sm90 ? "h200" : "b200";
    double sum = 0;
    for (const Kind& kind : kinds()) {
      const double ns = best_ns_of(kind, facts);
      sum += ns;
      RecordProperty(device + "_" + kind.name + "_ns", static_cast<int>(ns));
      std::printf("%s %-14s %6.0f ns\n", device.c_str(), kind.name, ns);
      if (judges_times()) {
        EXPECT_LT(ns, budget_ns) << device << " " << kind.name;
      }
    }
    const double mean = sum / static_cast<double>(kinds().size());
    RecordProperty(device + "_ns", static_cast<int>(mean));
    if (judges_times()) {
      EXPECT_LT(mean, mean_ns) << device;
    }
  }
}

}  // namespace
}  // namespace bwgemm
