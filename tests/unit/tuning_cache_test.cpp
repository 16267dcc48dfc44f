// SPDX-License-Identifier: Apache-2.0
#include "api/tuning_cache.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <set>

#include "api/tuning_file.h"
#include "bwgemm/bwgemm.h"
#include "families/variants.h"
#include "problems.h"
#include "rules/copies.h"
#include "support/flushed_denormals.h"

namespace bwgemm {
namespace {

namespace fs = std::filesystem;
using test::problem_of;

std::string class_of(const Problem& problem, const SelectOptions& options = {}) {
  return problem_class(problem, options, nominal_h200);
}

TEST(ProblemClass, HoldsAllThatTheFastestChoiceMayDependOn) {
  const std::vector<std::function<void(Problem&)>> changes = {
      [](Problem&) {},
      [](Problem& p) { p.m = 512; },
      [](Problem& p) { p.n = 512; },
      [](Problem& p) { p.k = 512; },
      [](Problem& p) { p.batch = 2; },
      [](Problem& p) { p.batch = 2, p.a.batch_stride = 0; },
      [](Problem& p) { p.a.order = Order::column; },
      [](Problem& p) { p.b.order = Order::row; },
      [](Problem& p) { p.a.type = p.b.type = Dtype::f16; },
      [](Problem& p) { p.d.type = p.c.type = Dtype::f32; },
      [](Problem& p) { p.a.data = test::address(0x100000002); },
      [](Problem& p) { p.b.ld += 1; },
      [](Problem& p) { p.d.data = test::address(0x300000010); },
      [](Problem& p) { p.d.ld = 384; },
      [](Problem& p) { p.beta.value = 2; },
      [](Problem& p) { p.beta.value = 2, p.c.data = test::address(0x400000000); },
      [](Problem& p) { p.beta.device = reinterpret_cast<const float*>(16); },
      [](Problem& p) { p.alpha.value = 0; },
      [](Problem& p) { p.is_pointer_array = true; },
      [](Problem& p) { p.epilogue.activation = Activation::relu; },
      [](Problem& p) { p.epilogue.activation = Activation::silu, p.epilogue.gate = Gate::stacked; },
      [](Problem& p) { p.epilogue.row_bias = {test::address(16)}; },
      [](Problem& p) { p.epilogue.column_bias = {test::address(16)}; },
      [](Problem& p) {
        p.epilogue.column_bias = {test::address(16), Dtype::bf16};
      },
      [](Problem& p) { p.epilogue.row_scale = {test::address(16)}; },
      [](Problem& p) { p.epilogue.aux = p.d; },
      [](Problem& p) { p.epilogue.aux = p.d, p.epilogue.differentiates = true; },
  };
  std::set<std::string> classes;
  for (const auto& change : changes) {
    Problem problem = problem_of(256, 256, 256);
    change(problem);
    EXPECT_TRUE(classes.insert(class_of(problem)).second) << class_of(problem);
    EXPECT_EQ(class_of(problem).find(' '), std::string::npos);
  }
  const Problem problem = problem_of(256, 256, 256);
  EXPECT_TRUE(classes.insert(class_of(problem, {.batch_invariant = true})).second);
  EXPECT_TRUE(classes.insert(class_of(problem, {.sm_count_target = 7})).second);
}

TEST(ProblemClass, HoldsIntoHowManyPartsTheWorkspaceDivides) {
  Problem problem = problem_of(16384, 16384, 16384);
  problem.b.ld += 1;
  const std::size_t all = copies_of(problem).bytes();
  ASSERT_GT(all / 2, std::size_t{64} << 20);
  const auto with = [&](std::size_t bytes) {
    return class_of(problem, {.workspace_bytes = bytes});
  };
  EXPECT_EQ(with(all), with(2 * all));
  EXPECT_NE(with(all), with(all - 1));
  EXPECT_EQ(with(all / 2), with(all - 1));
  EXPECT_NE(with(all / 2 - 1), with(all / 2));
}

// It decides which algos there are.
TEST(ProblemClass, HoldsTheWorkspaceBelowTheLibrarysOwn) {
  const Problem problem = problem_of(256, 256, 256);
  const auto with = [&](std::size_t bytes) {
    return class_of(problem, {.workspace_bytes = bytes});
  };
  constexpr std::size_t most = std::size_t{32} << 20;
  EXPECT_EQ(with(most), with(64 * most));
  EXPECT_NE(with(most), with(most - 1));
  EXPECT_EQ(with(most - 1), with(most / 2));
  EXPECT_NE(with(most / 2), with(most / 2 - 1));
  EXPECT_NE(with(1), with(0));
}

TEST(ProblemClass, HoldsNeitherAddressesNorScalars) {
  const Problem problem = problem_of(256, 256, 256);
  Problem other = problem;
  other.a.data = test::address(0x700000000);
  other.alpha.value = -3;
  other.a.batch_stride = 1;  // of one batch
  other.b.ld = 1024;         // aligned alike
  EXPECT_EQ(class_of(problem), class_of(other));
  EXPECT_EQ(class_of(problem), class_of(problem, {.sm_count_target = 1000}));
}

TEST(ProblemClass, DenormalScalarsAreNumbers) {
  Problem problem = problem_of(256, 256, 256), zero = problem;
  problem.beta.value = 1;
  const std::string number = class_of(problem);
  problem.alpha.value = problem.beta.value = 1e-40f;
  zero.alpha.value = -0.0f;
  const std::string zero_class = class_of(zero);
  const test::FlushedDenormals flushed;
  EXPECT_EQ(class_of(problem), number);
  EXPECT_EQ(class_of(zero), zero_class);
}

class TuningCaches : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "bwgemm_tuning_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ / "cache"; }

  static constexpr Recipe pick{0, 256, 1};
  static constexpr Recipe other{1, 256, 2};

 private:
  fs::path folder_;
};

TEST_F(TuningCaches, KnowWhatTheyRemember) {
  TuningCache cache("device");
  EXPECT_FALSE(cache.any());
  EXPECT_EQ(cache.find("problem"), std::nullopt);
  cache.remember("problem", pick);
  EXPECT_TRUE(cache.any());
  EXPECT_EQ(cache.find("problem"), pick);
  EXPECT_EQ(cache.find("another"), std::nullopt);
}

TEST_F(TuningCaches, ShareAFileAmongEqualDevices) {
  TuningCache first("device"), second("device"), elsewhere("another");
  first.open(path());
  first.remember("problem", pick);
  second.open(path());
  EXPECT_EQ(second.find("problem"), pick);
  elsewhere.open(path());
  EXPECT_EQ(elsewhere.find("problem"), std::nullopt);
  elsewhere.remember("problem", other);
  second.open(path());
  EXPECT_EQ(second.find("problem"), pick) << "of the other device";
}

TEST_F(TuningCaches, PreferTheirOwnResults) {
  TuningCache writer("device"), cache("device");
  writer.open(path());
  writer.remember("problem", pick);
  writer.remember("second", pick);
  cache.remember("problem", other);
  cache.open(path());
  EXPECT_EQ(cache.find("problem"), other);
  EXPECT_EQ(cache.find("second"), pick);
  cache.open("");
  EXPECT_EQ(cache.find("problem"), other);
  EXPECT_EQ(cache.find("second"), std::nullopt) << "the file's are forgotten with it";
}

TEST_F(TuningCaches, AgreeOnWhatTheFileHasFirst) {
  TuningCache first("device"), second("device"), elsewhere("another");
  for (TuningCache* cache : {&first, &second, &elsewhere}) cache->open(path());
  EXPECT_EQ(second.find_anew("problem"), std::nullopt);
  first.agree_on("problem", pick);
  EXPECT_EQ(second.find("problem"), std::nullopt) << "read before";
  second.agree_on("problem", other);
  elsewhere.agree_on("problem", other);
  EXPECT_EQ(first.find("problem"), pick);
  EXPECT_EQ(second.find("problem"), pick);
  EXPECT_EQ(elsewhere.find("problem"), other) << "of another device";
  TuningCache third("device");
  third.open("");
  EXPECT_EQ(third.find_anew("problem"), std::nullopt) << "without a file";
  third.agree_on("problem", other);
  EXPECT_EQ(third.find("problem"), other);
  second.remember("problem", other);
  EXPECT_EQ(first.find_anew("problem"), pick) << "own results stay";
}

TEST_F(TuningCaches, FindAnewWhatOthersHaveAdded) {
  TuningCache first("device"), second("device");
  second.open(path());
  first.open(path());
  first.remember("problem", pick);
  EXPECT_FALSE(second.any());
  EXPECT_EQ(second.find_anew("problem"), pick);
  EXPECT_TRUE(second.any());
  EXPECT_EQ(second.find("problem"), pick);
  second.open("");
  EXPECT_EQ(second.find("problem"), std::nullopt) << "of the file";
}

TEST_F(TuningCaches, NeedNotWriteWhatTheyRemember) {
  TuningCache cache("device");
  cache.open(path());
  cache.remember("problem", pick, false);
  EXPECT_EQ(cache.find("problem"), pick);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(TuningCaches, TellPredictionsFromMeasurements) {
  TuningCache writer("device"), cache("device");
  writer.open(path());
  writer.remember("problem", pick);
  cache.remember_predicted("problem", other);
  cache.remember("own", pick);
  cache.remember_predicted("own", other);
  EXPECT_TRUE(cache.any());
  EXPECT_EQ(cache.find("problem"), other);
  EXPECT_FALSE(cache.is_measured("problem"));
  EXPECT_FALSE(cache.is_measured("another"));
  EXPECT_EQ(cache.find("own"), pick);
  EXPECT_TRUE(cache.is_measured("own"));
  cache.open(path());
  EXPECT_EQ(cache.find("problem"), pick) << "the file's, from now on";
  EXPECT_TRUE(cache.is_measured("problem"));
  cache.remember_predicted("second", other);
  EXPECT_EQ(cache.find_anew("second"), other);
  cache.forget_predicted();
  EXPECT_EQ(cache.find("second"), std::nullopt);
  EXPECT_EQ(cache.find("own"), pick);
  EXPECT_EQ(cache.find("problem"), pick);
  EXPECT_EQ(read_tuning_file(path()).entries.size(), 1u);
  TuningCache empty("device");
  empty.remember_predicted("problem", pick);
  empty.forget_predicted();
  EXPECT_FALSE(empty.any());
}

TEST_F(TuningCaches, IgnoreOtherBuildsAndUnknownKernels) {
  const std::string kernel(kernel_name(kernel_variants[0]).view());
  TuningCache writer("device");
  writer.open(path());
  writer.remember("good", pick);
  TuningEntry entry = read_tuning_file(path()).entries.at(0);
  std::vector<TuningEntry> stale(5, entry);
  stale[0].problem = "build", stale[0].build += "x";
  stale[1].problem = "kernel", stale[1].kernel = "bwgemm_sm90_gone";
  stale[2].problem = "raster", stale[2].raster = "spiral";
  stale[3].problem = "operands", stale[3].operands = "mirrored";
  stale[4].problem = "nothing", stale[4].operands = "";
  ASSERT_EQ(add_to_tuning_file(path(), stale), "");
  TuningCache cache("device");
  cache.open(path());
  EXPECT_EQ(cache.find("good"), pick);
  for (const TuningEntry& ignored : stale) EXPECT_EQ(cache.find(ignored.problem), std::nullopt);
  EXPECT_EQ(read_tuning_file(path()).entries.size(), 6u) << "they may be of use to others";
}

TEST_F(TuningCaches, GoOnWithoutAFileThatCannotBeUsed) {
  TuningCache cache("device");
  cache.open("/nonexistent/folder/cache");
  cache.remember("problem", pick);
  EXPECT_EQ(cache.find("problem"), pick);
}

TEST_F(TuningCaches, AreOfBoundedSize) {
  TuningCache cache("device");
  for (std::size_t i = 0; i < max_tuning_entries + 5; ++i) cache.remember(std::to_string(i), pick);
  EXPECT_EQ(cache.find("4"), std::nullopt) << "the oldest go";
  EXPECT_EQ(cache.find("5"), pick);
}

}  // namespace
}  // namespace bwgemm
