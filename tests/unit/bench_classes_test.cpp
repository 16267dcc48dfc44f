// SPDX-License-Identifier: Apache-2.0
// Which class a problem is judged in, the means over classes, and the lists of random problems.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/classes.h"
#include "bench/random_problems.h"

namespace bwgemm::bench {
namespace {

// In the row-major view of the lists.
std::string class_name(const std::string& text) {
  return class_of(parse_problem(text, false)).name;
}

TEST(BenchClasses, FirstThatHolds) {
  EXPECT_EQ(class_name("m=2048,n=2048,k=2048,transb=T"), "compute-bound: M, N, K >= 2048");
  EXPECT_EQ(class_name("m=2048,n=4096,k=2040,transb=T"), "rest");
  EXPECT_EQ(class_name("m=16,n=4096,k=14336,transb=T"), "decode: M <= 16");
  EXPECT_EQ(class_name("m=17,n=4096,k=14336,transb=T"), "M 17..512");
  EXPECT_EQ(class_name("m=512,n=4096,k=4096,transb=T"), "M 17..512");
  EXPECT_EQ(class_name("m=4096,n=16,k=4096,transb=T"), "thin K, or tall and skinny");
  EXPECT_EQ(class_name("m=65536,n=512,k=512,transb=T"), "thin K, or tall and skinny");
  EXPECT_EQ(class_name("m=8192,n=8192,k=512,transb=T"), "thin K, or tall and skinny");
  EXPECT_EQ(class_name("m=8192,n=8192,k=520,transb=T"), "rest");
  EXPECT_EQ(class_name("m=1024,n=1024,k=1024,transb=T"), "rest");
  EXPECT_EQ(class_name("m=128,n=128,k=64,batch=512,transb=T"), "batches of small problems");
  EXPECT_EQ(class_name("m=4096,n=4096,k=4096,batch=2,transb=T"), "compute-bound: M, N, K >= 2048");
}

TEST(BenchClasses, UnalignedComesFirst) {
  EXPECT_EQ(class_name("m=4093,n=4091,k=4099,transb=T"), "unaligned, 2MNK >= 1e9");
  EXPECT_EQ(class_name("m=4096,n=4096,k=4096,transb=T,aligna=8"), "unaligned, 2MNK >= 1e9");
  EXPECT_EQ(class_name("m=4096,n=4096,k=4096,transb=T,ldc=4097"), "unaligned, 2MNK >= 1e9");
  EXPECT_EQ(class_name("m=1,n=4095,k=4095"), "unaligned, smaller");
  EXPECT_EQ(class_name("m=64,n=64,k=64,batch=8,stridea=4097"), "unaligned, smaller");
}

TEST(BenchClasses, EpiloguesHaveTheirOwn) {
  const std::string problem = "m=4096,n=4096,k=4096,transb=T,";
  EXPECT_EQ(class_name(problem + "epilogue=beta1"), "compute-bound: M, N, K >= 2048");
  EXPECT_EQ(class_name(problem + "epilogue=residual"), "fused residual");
  EXPECT_EQ(class_name(problem + "epilogue=bias_residual"), "fused residual");
  EXPECT_EQ(class_name(problem + "epilogue=swiglu"), "fused gate: SwiGLU, GeGLU");
  EXPECT_EQ(class_name(problem + "epilogue=bias_geglu,gate=stacked"), "fused gate: SwiGLU, GeGLU");
  EXPECT_EQ(class_name(problem + "epilogue=dgelu"), "fused derivative");
  for (const char* fused : {"bias", "relu", "gelu_tanh", "bias_relu", "bias_gelu_tanh"})
    EXPECT_EQ(class_name(problem + "epilogue=" + fused), "fused bias, relu, gelu");
  for (const char* apart : {"silu", "gelu_erf", "bias_silu"})
    EXPECT_EQ(class_name(problem + "epilogue=" + apart), "fused silu, gelu by erf");
  EXPECT_EQ(class_name("m=1,n=4095,k=4095,epilogue=bias"), "fused bias, relu, gelu");
}

TEST(BenchClasses, WhatIsReadOnceNeedsNoAlignedDistance) {
  EXPECT_EQ(class_name("m=1,n=4096,k=4096,transb=T,lda=4097"), "decode: M <= 16");
  EXPECT_EQ(class_name("m=128,n=64,k=64,transb=T,stridea=4097"), "M 17..512");
}

TEST(BenchClasses, LeastBytes) {
  EXPECT_DOUBLE_EQ(least_bytes(parse_problem("m=4,n=8,k=16", false)), 2.0 * (64 + 128 + 32));
  EXPECT_DOUBLE_EQ(least_bytes(parse_problem("m=4,n=8,k=16,beta=1,out=f32", false)),
                   2.0 * (64 + 128) + 2 * 4.0 * 32);
  EXPECT_DOUBLE_EQ(least_bytes(parse_problem("m=4,n=8,k=16,batch=3,stridea=0", false)),
                   2.0 * (64 + 3 * 128 + 3 * 32));
  EXPECT_DOUBLE_EQ(least_bytes(parse_problem("m=4,n=8,k=16,epilogue=swiglu", false)),
                   2.0 * (64 + 128 + 16));
  EXPECT_DOUBLE_EQ(least_bytes(parse_problem("m=4,n=8,k=16,epilogue=residual", false)),
                   2.0 * (64 + 128 + 2 * 32));
  EXPECT_DOUBLE_EQ(least_bytes(parse_problem("m=4,n=8,k=16,epilogue=dgelu", false)),
                   2.0 * (64 + 128 + 2 * 32));
}

TEST(BenchClasses, SummarizesAResultFile) {
  const Table table = Table::parse(
      "name,m,n,k,transa,transb,dtype,bwgemm_us,ratio_first,ratio_best\n"
      "a,4096,1,4096,T,N,bf16,10,2.0,1.0\n"
      "b,4096,8,4096,T,N,bf16,10,0.5,0.25\n"
      "c,4096,4096,4096,T,N,bf16,200,1.1,1.0\n"
      "untimed,64,64,64,T,N,bf16,0,0,0\n"
      "alone,64,64,64,T,N,bf16,5,0,0\n",
      "results.csv");
  const std::vector<Ratio> ratios = ratios_of(table);
  ASSERT_EQ(ratios.size(), 3u);
  const std::vector<ClassSummary> all = summaries(ratios);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "all");
  EXPECT_EQ(all[0].worst_best->problem.name, "b");
  EXPECT_EQ(all[1].name, "compute-bound: M, N, K >= 2048");
  EXPECT_EQ(all[2].name, "decode: M <= 16");
  EXPECT_EQ(all[2].problems, 2u);
  EXPECT_NEAR(all[2].mean_first, 1.0, 1e-12);
  EXPECT_NEAR(all[2].mean_best, 0.5, 1e-12);
  EXPECT_NE(summary_text(all).find("1.000 <"), std::string::npos);
  EXPECT_NE(summary_csv(all).find("\"decode: M <= 16\",2,1.0000,1.10,0.5000,1.06"),
            std::string::npos);
}

TEST(BenchClasses, AllAreThoseWithoutEpilogues) {
  const Table table = Table::parse(
      "name,m,n,k,beta,epilogue,gate,bwgemm_us,ratio_first,ratio_best\n"
      "plain,4096,8,4096,0,none,none,10,2.0,1.5\n"
      "beta,4096,8,4096,1,none,none,10,0.5,0.5\n"
      "gate,4096,8,4096,0,swiglu,stacked,10,1.2,1.1\n"
      "bias,4096,8,4096,0,bias,none,10,1.04,1.0\n",
      "results.csv");
  const std::vector<Ratio> ratios = ratios_of(table);
  const std::vector<ClassSummary> all = summaries(ratios);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, "all");
  EXPECT_EQ(all[0].problems, 2u);
  EXPECT_NEAR(all[0].mean_first, 1.0, 1e-12);
  EXPECT_EQ(all[2].name, "fused gate: SwiGLU, GeGLU");
  EXPECT_EQ(all[2].problems, 1u);
  EXPECT_EQ(all[3].name, "fused bias, relu, gelu");
  EXPECT_NE(summary_text(all).find("1.200 ok"), std::string::npos);
  EXPECT_NE(summary_text(all).find("1.040 <"), std::string::npos);
}

std::vector<BenchProblem> read_list(const std::string& list) {
  // Tests run beside one another.
  const std::string path = testing::TempDir() + "bench_random_problems." +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
  std::ofstream(path) << list;
  std::vector<BenchProblem> problems = read_problem_list(path, false);
  std::remove(path.c_str());
  return problems;
}

TEST(BenchRandomProblems, AreTheSameForASeedAndReadable) {
  const std::string list = random_problem_list(11, 300);
  EXPECT_EQ(list, random_problem_list(11, 300));
  EXPECT_NE(list, random_problem_list(12, 300));
  EXPECT_TRUE(list.starts_with(random_problem_list(11, 300).substr(0, 20)));
  const std::vector<BenchProblem> problems = read_list(list);
  ASSERT_EQ(problems.size(), 300u);
  std::set<std::string> names, classes;
  for (const BenchProblem& problem : problems) {
    EXPECT_TRUE(problem.unsupported.empty()) << problem.name;
    EXPECT_FALSE(problem.empty()) << problem.name;
    EXPECT_LE(problem.flop(), 2e12) << problem.name;
    names.insert(problem.name);
    classes.insert(class_of(problem).name);
  }
  EXPECT_EQ(names.size(), problems.size());
  EXPECT_EQ(classes.size(), problem_classes().size()) << "some class has no random problem";
}

TEST(BenchRandomProblems, OfTheSpaceReachItsCorners) {
  EXPECT_EQ(space_problem_list(11, 400), space_problem_list(11, 400));
  const std::vector<BenchProblem> problems = read_list(space_problem_list(11, 400));
  ASSERT_EQ(problems.size(), 400u);
  int odd = 0, fused = 0, batches = 0, scaled = 0, wide = 0, vectors = 0, deep = 0;
  for (const BenchProblem& problem : problems) {
    EXPECT_TRUE(problem.unsupported.empty()) << problem.name << ": " << problem.unsupported;
    EXPECT_LE(problem.flop(), 2e13) << problem.name;
    if (problem.m % 8 != 0 && problem.k % 8 != 0) ++odd;
    if (problem.epilogue.any()) ++fused;
    if (problem.batch > 1) ++batches;
    if (problem.beta != 0 && !problem.epilogue.any()) ++scaled;
    if (std::max(problem.m, problem.n) > 16384) ++wide;
    if (std::min(problem.m, problem.n) <= 4) ++vectors;
    if (problem.k > 16384) ++deep;
  }
  for (const int count : {odd, fused, batches, scaled, wide, vectors, deep}) EXPECT_GE(count, 12);
}

TEST(BenchRandomProblems, OfTrainingGoInAllDirections) {
  EXPECT_EQ(training_problem_list(11, 400), training_problem_list(11, 400));
  const std::vector<BenchProblem> problems = read_list(training_problem_list(11, 400));
  ASSERT_EQ(problems.size(), 400u);
  std::map<std::string, int> kinds;
  int odd = 0, fused = 0;
  for (const BenchProblem& problem : problems) {
    EXPECT_TRUE(problem.unsupported.empty()) << problem.name << ": " << problem.unsupported;
    EXPECT_LE(problem.flop(), 2e12) << problem.name;
    ++kinds[problem.name.substr(0, problem.name.find('.'))];
    if (problem.m % 8 != 0 || problem.n % 8 != 0 || problem.k % 8 != 0) ++odd;
    if (problem.epilogue.any()) ++fused;
  }
  for (const char* kind : {"forward", "dgrad", "wgrad", "scores", "context", "skinny"})
    EXPECT_GE(kinds[kind], 20) << kind;
  EXPECT_GE(odd, 40);
  EXPECT_GE(fused, 40);
}

}  // namespace
}  // namespace bwgemm::bench
