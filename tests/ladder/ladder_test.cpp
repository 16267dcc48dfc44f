// SPDX-License-Identifier: Apache-2.0
// Every step of the ladder computes the product: whole numbers to the bit, random ones within the
// library's bounds, on one tile, on many tiles of a few clusters, along rings that go round. On the
// virtual GPU under eight schedules, with no findings.
#include "bench/ladder.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/element.h"
#include "support/tolerance.h"

namespace bwgemm::bench {
namespace {

using ladder::Step;

// The virtual driver's own entry points; none on silicon.
class VirtualGpu {
 public:
  VirtualGpu() {
    const char* path = std::getenv("BWGEMM_LIBCUDA");
    void* library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
    if (library == nullptr) return;
    seed_ = reinterpret_cast<void (*)(unsigned long long)>(dlsym(library, "vgpu_seed"));
    findings_ = reinterpret_cast<std::size_t (*)()>(dlsym(library, "vgpu_finding_count"));
  }
  bool is_there() const { return seed_ != nullptr && findings_ != nullptr; }
  void seed(unsigned long long seed) const {
    if (seed_ != nullptr) seed_(seed);
  }
  std::size_t findings() const { return findings_ != nullptr ? findings_() : 0; }

 private:
  void (*seed_)(unsigned long long) = nullptr;
  std::size_t (*findings_)() = nullptr;
};

class LadderStep : public testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() {
    try {
      gpu = std::make_unique<Gpu>();
      if (!Ladder::runs_on(*gpu)) why_not = gpu->name() + " is none of sm_100's";
    } catch (const std::exception& error) {
      why_not = error.what();
    }
  }
  static void TearDownTestSuite() { gpu.reset(); }
  void SetUp() override {
    if (why_not.empty()) return;
    if (std::getenv("BWGEMM_TEST_REQUIRE_GPU") != nullptr) FAIL() << why_not;
    GTEST_SKIP() << why_not;
  }

  // Under several schedules where there are any. Persistent steps have two clusters.
  void compute_exactly(std::int64_t m, std::int64_t n, std::int64_t k) const {
    const VirtualGpu virtual_gpu;
    const Ladder ladder(*gpu, 2 * step.shape.ctas);
    const WholeNumberProduct product(m, n, k, 1);
    for (int seed = 1; seed <= (virtual_gpu.is_there() ? 8 : 1); ++seed) {
      virtual_gpu.seed(static_cast<unsigned long long>(seed));
      ASSERT_EQ(product.check(*gpu, ladder, step), "ok") << "seed " << seed;
    }
    EXPECT_EQ(virtual_gpu.findings(), 0u);
  }

  const Step& step = ladder::steps[GetParam()];
  inline static std::unique_ptr<Gpu> gpu;
  inline static std::string why_not;
};

TEST_P(LadderStep, ComputesOneTile) {
  compute_exactly(step.shape.tile_m, step.shape.tile_n, 64);
}

// The ring goes round twice and the last block of k is not whole, where blocks are more than 64.
TEST_P(LadderStep, GoesRoundTheRing) {
  const int k = (2 * step.shape.stages + 1) * step.shape.tile_k;
  compute_exactly(step.shape.tile_m, 2 * step.shape.tile_n, k - (step.shape.tile_k > 64 ? 64 : 0));
}

// Where clusters persist, so many that each comes back again and again.
TEST_P(LadderStep, ComputesManyTiles) {
  const bool persists = step.shape.grid != ladder::Grid::tiles;
  compute_exactly((persists ? 5 : 2) * step.shape.tile_m, (persists ? 3 : 2) * step.shape.tile_n,
                  192);
}

std::vector<std::uint16_t> normal_numbers(std::mt19937& random, std::size_t count) {
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> numbers(count);
  for (std::uint16_t& number : numbers) number = test::to_bf16(normal(random));
  return numbers;
}

TEST_P(LadderStep, ComputesRandomNumbers) {
  const std::size_t m = 2 * step.shape.tile_m, n = 2 * step.shape.tile_n, k = 320;
  std::mt19937 random(1);
  const std::vector<std::uint16_t> a = normal_numbers(random, m * k);
  const std::vector<std::uint16_t> b = normal_numbers(random, n * k);
  const DeviceBuffer a_memory(a.size() * 2), b_memory(b.size() * 2), d_memory(m * n * 2);
  check(driver().cuMemcpyHtoD(a_memory.address(), a.data(), a.size() * 2), "cuMemcpyHtoD");
  check(driver().cuMemcpyHtoD(b_memory.address(), b.data(), b.size() * 2), "cuMemcpyHtoD");
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
  Ladder(*gpu).launch(step, {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n),
                             static_cast<std::int64_t>(k), a_memory.address(), b_memory.address(),
                             d_memory.address()});
  check(driver().cuStreamSynchronize(gpu->stream()), "cuStreamSynchronize");
  std::vector<std::uint16_t> d(m * n);
  check(driver().cuMemcpyDtoH(d.data(), d_memory.address(), d.size() * 2), "cuMemcpyDtoH");
  for (std::size_t row = 0; row < m; row += 7)
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < k; ++i) {
        const double product =
            double{test::from_bf16(a[row * k + i])} * test::from_bf16(b[column * k + i]);
        sum += product;
        magnitude += std::fabs(product);
      }
      const test::Allowed allowed =
          test::allowed_result(sum, magnitude, static_cast<std::int64_t>(k), 1, 0, 0, Dtype::bf16);
      ASSERT_TRUE(test::is_allowed(test::from_bf16(d[row * n + column]), allowed))
          << row << " " << column << ": " << test::from_bf16(d[row * n + column]) << " for " << sum;
    }
}

TEST_P(LadderStep, RefusesEdges) {
  const Ladder ladder(*gpu);
  const auto why = [&](std::int64_t m, std::int64_t n, std::int64_t k) -> std::string {
    try {
      ladder.launch(step, {m, n, k, 0, 0, 0});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  const std::int64_t m = step.shape.tile_m, n = step.shape.tile_n;
  EXPECT_THAT(why(m + 64, n, 64), testing::HasSubstr("m must be a multiple"));
  EXPECT_THAT(why(m, n + 64, 64), testing::HasSubstr("n must be a multiple"));
  EXPECT_THAT(why(m, n, 96), testing::HasSubstr("k must be a multiple of 64"));
  EXPECT_THAT(why(m, n, 0), testing::HasSubstr("k must be a multiple of 64"));
}

INSTANTIATE_TEST_SUITE_P(All, LadderStep, testing::Range(std::size_t{0}, ladder::steps.size()),
                         [](const auto& info) {
                           return std::string(ladder::steps[info.param].name);
                         });

}  // namespace
}  // namespace bwgemm::bench
