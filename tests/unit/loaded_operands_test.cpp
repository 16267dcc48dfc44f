// SPDX-License-Identifier: Apache-2.0
// Operands that threads load because TMA cannot address them (families/sm100/loaders.h): which they
// are, that no map is made of them, and what selection makes of that.
#include <array>
#include <cstdint>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string_view>

#include "fake_driver.h"
#include "families/variants.h"
#include "planned.h"
#include "problems.h"
#include "rows.h"

namespace bwgemm {
namespace {

using test::address, test::fake_map, test::kk, test::kn, test::mk, test::mn, test::problem_of,
    test::reason, test::row_named;

constexpr std::string_view loading = "bwgemm_sm100_b16_128xNx64_u_single";
constexpr std::string_view mapping = "bwgemm_sm100_b16_256xNx64_2x1_u_pair";

// Operands that TMA can address, in batches.
Problem addressable(test::Majors majors = kk) {
  return problem_of(256, 512, 768, majors, {}, 3);
}

test::Planned planned(const Problem& problem, TensorMapCache& maps) {
  SelectOptions options;
  options.forced.kernel = loading;
  ProductContext context;
  context.facts = nominal_b200;
  context.resident_clusters = nominal_b200.sm_count;
  const Choice choice = select(problem, nominal_b200, kernel_variants, options);
  return test::planned_product(problem, row_named(loading), choice, context, maps);
}

bool is_empty(const TensorMap& map) {
  const TensorMap none{};
  return std::memcmp(&map, &none, sizeof map) == 0;
}

TEST(LoadedOperands, AreThoseThatTmaCannotAddress) {
  const KernelConfig row = row_named(loading);
  const Matrix matrix = addressable().a;
  EXPECT_FALSE(sm100::is_loaded_by_threads(row, matrix, 3));
  Matrix displaced = matrix, stepping = matrix, batched = matrix;
  displaced.data = address(0x10000000e);
  stepping.ld += 4;
  batched.batch_stride += 1;
  for (const Matrix& one : {displaced, stepping}) {
    EXPECT_TRUE(sm100::is_loaded_by_threads(row, one, 1));
    EXPECT_FALSE(sm100::is_loaded_by_threads(row_named(mapping), one, 1));
  }
  EXPECT_TRUE(sm100::is_loaded_by_threads(row, batched, 3));
  EXPECT_FALSE(sm100::is_loaded_by_threads(row, batched, 1));
}

TEST(LoadedOperands, AreNotRefused) {
  for (const test::Majors majors : {kk, kn, mk, mn}) {
    Problem problem = addressable(majors);
    problem.a.data = address(0x100000002);
    problem.b.ld += 1;
    problem.b.batch_stride += 7;
    EXPECT_EQ(reason(problem, loading), "");
    EXPECT_EQ(reason(problem, mapping), "A does not start at a multiple of 16 bytes");
  }
}

// What is aligned has the limits of a map, what is not has none.
TEST(LoadedOperands, HaveNoLimitsOfMaps) {
  Problem problem = addressable();
  problem.batch = 1;
  problem.a.ld = std::int64_t{1} << 40;
  EXPECT_EQ(reason(problem, loading), "the leading dimension of A reaches 2^40 bytes");
  problem.a.ld += 1;
  EXPECT_EQ(reason(problem, loading), "");
}

TEST(LoadedOperands, HaveNoMap) {
  for (const bool loads_a : {false, true})
    for (const bool loads_b : {false, true}) {
      TensorMapCache maps(test::fake_encode);
      Problem problem = addressable(mn);
      if (loads_a) problem.a.data = address(0x100000006);
      if (loads_b) problem.b.batch_stride += 1;
      const test::Planned plan = planned(problem, maps);
      EXPECT_EQ(plan.threads, 512);
      EXPECT_EQ(is_empty(plan.params.a_map), loads_a);
      EXPECT_EQ(is_empty(plan.params.b_map), loads_b);
      EXPECT_EQ(maps.counters().misses, std::uint64_t{!loads_a} + std::uint64_t{!loads_b});
      EXPECT_EQ(plan.params.a.data, problem.a.data);
      EXPECT_EQ(plan.params.b.batch_stride, problem.b.batch_stride);
    }
}

TEST(LoadedOperands, MoveWithTheirPart) {
  TensorMapCache maps(test::fake_encode);
  Problem problem = addressable();
  problem.a.data = address(0x100000006);
  test::Planned plan = planned(problem, maps);
  problem.a.data = address(0x400000006);
  problem.b.data = address(0x500000000);
  plan.move_to(test::values_at(problem), maps);
  const test::Planned expected = planned(problem, maps);
  EXPECT_EQ(std::memcmp(&plan.params, &expected.params, plan.params_bytes), 0);
}

// Large products run on the tensor cores wherever their operands lie.
TEST(LoadedOperands, AreChosenOverDirectLoads) {
  const std::array sizes = {std::array{4093, 4091, 4099}, std::array{8191, 8191, 8191},
                            std::array{2047, 2049, 1023}};
  for (const auto& [m, n, k] : sizes)
    for (const test::Majors majors : {kk, kn, mk, mn}) {
      const Choice choice = select(problem_of(m, n, k, majors), nominal_b200, kernel_variants, {});
      EXPECT_EQ(kernel_name(kernel_variants[static_cast<std::size_t>(choice.variant)]).view(),
                loading)
          << m << "x" << n << "x" << k;
    }
}

}  // namespace
}  // namespace bwgemm
