// SPDX-License-Identifier: Apache-2.0
// The benchmark's arithmetic on sweeps: which time belongs to the choice, what the regret is, and
// that a sweep's file gives back what was written.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/regret.h"
#include "bench/sweep_file.h"
#include "select/correction.h"

namespace bwgemm::bench {
namespace {

const std::string wide = "bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop";
const std::string narrow = "bwgemm_sm90_b16_kk_128x64x64_s8_coop";

BenchProblem named(const std::string& name) {
  BenchProblem problem = parse_problem("m=512,n=768,k=256,transa=T", true);
  problem.name = name;
  return problem;
}

SweepRow row(const std::string& problem, const std::string& kernel, int splits, double us) {
  return {.problem = named(problem), .variant = {kernel, 128, 64, 64, splits}, .us = us};
}

// A selection that always chooses `kernel` with `splits`, and predicts 10 us for everything.
Judge chooses(const std::string& kernel, int splits) {
  return [=](const BenchProblem&, NominalDevice, std::span<const Variant> variants) {
    Judgement judgement;
    for (const Variant& variant : variants) {
      judgement.choice.variant = variant;
      judgement.choice.us = 10;
      judgement.predictions.push_back(judgement.choice);
    }
    judgement.choice.variant.kernel = kernel;
    judgement.choice.variant.splits = splits;
    return judgement;
  };
}

TEST(BenchRegret, ComparesTheChoiceWithTheFastest) {
  const std::vector<SweepRow> rows = {row("p", wide, 1, 30), row("p", narrow, 1, 20),
                                      row("p", narrow, 4, 25), row("q", wide, 1, 7)};
  const std::vector<ProblemRegret> all = regrets(rows, chooses(wide, 1));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].timed.front().variant.kernel, narrow);
  EXPECT_DOUBLE_EQ(all[0].ratio(), 1.5);
  EXPECT_FALSE(all[0].other_splits);
  EXPECT_DOUBLE_EQ(all[1].ratio(), 1);
  const RegretSummary summary = summary_of(all);
  EXPECT_EQ(summary.problems, 2u);
  EXPECT_DOUBLE_EQ(summary.mean, 0.25);
  EXPECT_DOUBLE_EQ(summary.worst, 0.5);
  EXPECT_NEAR(summary.p95, 0.475, 1e-12);
}

// Predicted 10 each, so in the order of times behind the choice.
TEST(BenchRegret, MayChooseByTimeAmongTheBestPredicted) {
  const std::vector<SweepRow> rows = {row("p", wide, 1, 30), row("p", narrow, 1, 20),
                                      row("p", narrow, 4, 20.3), row("p", narrow, 8, 25)};
  Judge judge = [](const BenchProblem&, NominalDevice, std::span<const Variant> variants) {
    Judgement said;
    for (const Variant& variant : variants)  // narrow 8, 4, 1
      said.predictions.push_back({variant, 10.0 - variant.splits, ""});
    said.choice = {{wide, 128, 64, 64, 1}, 1, ""};
    return said;
  };
  const auto ratio_of = [&](int candidates) {
    ProblemRegret regret = regrets(rows, judge).at(0);
    choose_measured(regret, candidates);
    EXPECT_EQ(regret.choice.variant.splits,
              regret.timed[static_cast<std::size_t>(regret.chosen)].variant.splits);
    return regret.ratio();
  };
  EXPECT_DOUBLE_EQ(ratio_of(1), 1.5) << "the choice";
  EXPECT_DOUBLE_EQ(ratio_of(2), 1.25);
  EXPECT_DOUBLE_EQ(ratio_of(3), 20.3 / 20);
  EXPECT_DOUBLE_EQ(ratio_of(100), 20.3 / 20) << "within what times can tell apart";
}

TEST(BenchRegret, TakesTheNearestSplitsThatWereTimed) {
  const std::vector<SweepRow> rows = {row("p", narrow, 1, 20), row("p", narrow, 4, 10),
                                      row("p", narrow, 8, 12)};
  const std::vector<ProblemRegret> all = regrets(rows, chooses(narrow, 7));
  EXPECT_TRUE(all[0].other_splits);
  EXPECT_DOUBLE_EQ(all[0].ratio(), 1.2);
}

TEST(BenchRegret, CountsWhatWasNotTimed) {
  const std::vector<SweepRow> rows = {row("p", narrow, 1, 20)};
  const std::vector<ProblemRegret> all = regrets(rows, chooses(wide, 1));
  EXPECT_EQ(all[0].chosen, -1);
  EXPECT_EQ(summary_of(all).not_timed, 1u);
  EXPECT_EQ(summary_of(all).problems, 0u);
  EXPECT_NE(regret_text(all, 5).find("not timed  p"), std::string::npos);
}

TEST(BenchRegret, KeepsTheLeastOfTwoTimes) {
  const std::vector<SweepRow> rows = {row("p", narrow, 1, 20), row("p", narrow, 1, 18)};
  EXPECT_DOUBLE_EQ(regrets(rows, chooses(narrow, 1))[0].timed.front().us, 18);
}

TEST(BenchRegret, IgnoresWhatHasNoTime) {
  EXPECT_TRUE(regrets(std::vector{row("p", narrow, 1, 0)}, chooses(narrow, 1)).empty());
}

TEST(BenchRegret, JudgesWithTheLibrarysSelection) {
  const BenchProblem problem = named("p");
  const Prediction choice = chosen(problem, NominalDevice::h200);
  const std::vector<Prediction> all = predictions(problem, NominalDevice::h200);
  double least = 1e30, of_choice = 0;
  for (const Prediction& prediction : all) {
    if (!prediction.rejected.empty()) continue;
    least = std::min(least, prediction.us);
    if (prediction.variant == choice.variant) of_choice = prediction.us;
  }
  EXPECT_DOUBLE_EQ(choice.us, of_choice);
  EXPECT_LT(choice.us, furthest_corrected * least);
  const std::vector<SweepRow> rows = {
      {.problem = problem, .variant = choice.variant, .us = 5},
      {.problem = problem, .variant = {"bwgemm_sm90_gone", 1, 1, 1, 1}, .us = 4}};
  const std::vector<ProblemRegret> judged = regrets(rows, judge);
  EXPECT_DOUBLE_EQ(judged[0].ratio(), 1.25);
  EXPECT_DOUBLE_EQ(judged[0].timed[0].predicted_us, 0) << "a kernel that is gone";
  EXPECT_DOUBLE_EQ(judged[0].timed[1].predicted_us, choice.us);
}

// Of an operand that TMA cannot load the library's choice is among the predictions too, which
// are of operands in place and of copies.
TEST(BenchRegret, JudgesCopiesOfOperands) {
  const BenchProblem problem = parse_problem("m=2048,n=2048,k=2063,transa=T,name=odd", true);
  const Prediction choice = chosen(problem, NominalDevice::h200);
  EXPECT_EQ(choice.variant.operands, "copied");
  int found = 0, in_place = 0;
  std::vector<Variant> variants;
  for (const Prediction& prediction : predictions(problem, NominalDevice::h200)) {
    if (!prediction.rejected.empty()) continue;
    variants.push_back(prediction.variant);
    in_place += prediction.variant.operands == "in_place" ? 1 : 0;
    if (!(prediction.variant == choice.variant)) continue;
    ++found;
    EXPECT_DOUBLE_EQ(prediction.us, choice.us);
  }
  EXPECT_EQ(found, 1);
  EXPECT_GT(in_place, 0);
  Variant elsewhere = choice.variant;
  elsewhere.operands = "in_place";
  SweepRow copied{.problem = problem, .variant = choice.variant, .us = 50};
  const SweepRow other{.problem = problem, .variant = elsewhere, .us = 40};
  const std::vector<ProblemRegret> all = regrets(std::vector{copied, other}, judge);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_DOUBLE_EQ(all[0].ratio(), 1.25) << "each has a time of its own";
  EXPECT_NE(regret_text(all, 5).find(" with operands copied"), std::string::npos);

  const std::string text = sweep_header() + "\n" + sweep_line(copied) + "\n";
  EXPECT_EQ(sweep_of(Table::parse(text, "sweep.csv")).at(0).variant, choice.variant);
  EXPECT_NE(sweep_key(problem, choice.variant), sweep_key(problem, elsewhere));
}

TEST(BenchRegret, InterpolatesPercentiles) {
  EXPECT_DOUBLE_EQ(percentile({}, 0.95), 0);
  EXPECT_DOUBLE_EQ(percentile({3}, 0.95), 3);
  EXPECT_DOUBLE_EQ(percentile({4, 1, 2, 3, 5}, 0.5), 3);
  EXPECT_DOUBLE_EQ(percentile({0, 10}, 0.95), 9.5);
}

TEST(BenchSweepFile, GivesBackWhatWasWritten) {
  SweepRow written = row("odd", narrow, 3, 12.5);
  written.problem = parse_problem(
      "m=33,n=7,k=5,transb=T,dtype=f16,out=f32,alpha=0.1,beta=1e-20,batch=3,lda=40,stridec=1000,"
      "alignb=2,scalars=device,name=odd",
      true);
  written.predicted_us = 11.25;
  written.device = NominalDevice::h100;
  written.sm_mhz = 1755;
  written.launches = 9;
  const std::string text = sweep_header() + "\n" + sweep_line(written) + "\n";
  const std::vector<SweepRow> rows = sweep_of(Table::parse(text, "sweep.csv"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(sweep_line(rows[0]), sweep_line(written));
  EXPECT_EQ(rows[0].problem.alpha, 0.1f);
  EXPECT_EQ(rows[0].problem.beta, 1e-20f);
  EXPECT_EQ(rows[0].problem.b.displace, 2);
  EXPECT_EQ(rows[0].variant, written.variant);
  EXPECT_EQ(rows[0].device, NominalDevice::h100);
}

TEST(BenchSweepFile, TellsTheDeviceOfOlderFilesByTheKernel) {
  const auto without_device = [](std::string text) {
    return text.replace(text.find("device"), 6, "before");
  };
  const std::string header = without_device(sweep_header()) + "\n";
  const auto device = [&](const std::string& kernel) {
    const std::string text = header + sweep_line(row("p", kernel, 1, 20)) + "\n";
    return sweep_of(Table::parse(text, "sweep.csv"))[0].device;
  };
  EXPECT_EQ(device(narrow), NominalDevice::h200);
  EXPECT_EQ(device("bwgemm_sm100_b16_128xNx64_single"), NominalDevice::b200);
}

TEST(BenchSweepFile, RefusesADeviceThatItDoesNotKnow) {
  std::string line = sweep_line(row("p", narrow, 1, 20));
  line.replace(line.find("h200"), 4, "h300");
  EXPECT_THROW(sweep_of(Table::parse(sweep_header() + "\n" + line + "\n", "sweep.csv")),
               std::runtime_error);
}

TEST(BenchSelection, KnowsHopperChipsByTheirMemory) {
  EXPECT_EQ(nearest_device(9, 3.35e6), NominalDevice::h100);
  EXPECT_EQ(nearest_device(9, 4.9e6), NominalDevice::h200);
  EXPECT_EQ(nearest_device(10, 8e6), NominalDevice::b200);
  const BenchProblem weights = parse_problem("m=8,n=16384,k=8192,transb=T", false);
  EXPECT_GT(chosen(weights, NominalDevice::h100).us, 1.2 * chosen(weights, NominalDevice::h200).us);
}

TEST(BenchSweepFile, DropsARowThatWasCutOff) {
  const std::string line = sweep_line(row("p", narrow, 1, 20));
  const std::string text = sweep_header() + "\n" + line + "\n" + line.substr(0, line.size() / 2);
  EXPECT_EQ(sweep_of(Table::parse(text, "sweep.csv", true)).size(), 1u);
  EXPECT_THROW(Table::parse(text, "sweep.csv"), std::runtime_error);
}

TEST(BenchTable, NamesFileLineAndColumn) {
  const Table table = Table::parse("# comment\nName,us\n\"a,b\",1.5\n", "t.csv");
  EXPECT_EQ(table.text(0, "name"), "a,b");
  EXPECT_DOUBLE_EQ(table.number(0, "us"), 1.5);
  try {
    table.text(0, "watts");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "t.csv has no column watts");
  }
  try {
    Table::parse("a,b\n1\n", "t.csv");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "t.csv:2: 1 cells below a header of 2");
  }
}

}  // namespace
}  // namespace bwgemm::bench
