// SPDX-License-Identifier: Apache-2.0
// Lists of algorithms, and calls that name one, over the test double.
#include <algorithm>
#include <cstddef>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "support/algo_list.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

static_assert(BWGEMM_DETERMINISM_BATCH_INVARIANT == 1);
static_assert(sizeof(bwgemmMatmulAlgo_t) == 56 && offsetof(bwgemmMatmulAlgo_t, kernel) == 4 &&
              offsetof(bwgemmMatmulAlgo_t, algo) == 8 &&
              offsetof(bwgemmMatmulAlgo_t, predictedMicroseconds) == 16 &&
              offsetof(bwgemmMatmulAlgo_t, workspaceSize) == 24 &&
              offsetof(bwgemmMatmulAlgo_t, tileColumns) == 32 &&
              offsetof(bwgemmMatmulAlgo_t, splits) == 36 &&
              offsetof(bwgemmMatmulAlgo_t, raster) == 40 &&
              offsetof(bwgemmMatmulAlgo_t, isDeterministic) == 44 &&
              offsetof(bwgemmMatmulAlgo_t, isBatchInvariant) == 48 &&
              offsetof(bwgemmMatmulAlgo_t, copiesOperands) == 52);
static_assert(sizeof(bwgemmAutotuneOptions_t) == 24 &&
              offsetof(bwgemmAutotuneOptions_t, candidates) == 4 &&
              offsetof(bwgemmAutotuneOptions_t, repetitions) == 8 &&
              offsetof(bwgemmAutotuneOptions_t, tolerance) == 16);

using Algos = FakeHandleTest;

TEST_F(Algos, AreListedBestPredictionFirst) {
  const MatmulCall call;
  const std::vector<bwgemmMatmulAlgo_t> algos = algos_of(handle(), call);
  ASSERT_GT(algos.size(), 10u);
  fake_cuda().reset();
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(bwgemmKernelName(algos[0].kernel), only_launch().kernel);
  for (std::size_t i = 0; i < algos.size(); ++i) {
    EXPECT_EQ(algos[i].structSize, sizeof(bwgemmMatmulAlgo_t));
    EXPECT_GT(algos[i].predictedMicroseconds, i > 0 ? 0.0 : 0.1);
    EXPECT_GE(algos[i].predictedMicroseconds,
              i > 0 ? algos[i - 1].predictedMicroseconds : algos[i].predictedMicroseconds);
    EXPECT_EQ(algos[i].isDeterministic, 1);
    EXPECT_EQ(algos[i].workspaceSize > 0, algos[i].splits > 1);
    EXPECT_TRUE(algos[i].splits == 1 || algos[i].isBatchInvariant == 0);
  }
}

TEST_F(Algos, EveryAlgoIsUsedExactly) {
  MatmulCall call;
  call.desc.m = 64, call.desc.k = call.desc.lda = call.desc.ldb = 4096;
  int split = 0;
  for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), call)) {
    call.desc.algo = algo.algo;
    fake_cuda().reset();
    ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_STREQ(only_launch().kernel, bwgemmKernelName(algo.kernel));
    EXPECT_EQ(only_launch().params.splits, algo.splits);
    split += algo.splits > 1;
  }
  EXPECT_GT(split, 5);
}

TEST_F(Algos, ListsKeepToCapacityAndDistance) {
  const MatmulCall call;
  struct Larger {
    bwgemmMatmulAlgo_t algo;
    std::uint64_t later;
  };
  std::vector<Larger> larger(3, Larger{{}, 7});
  larger[0].algo.structSize = sizeof(Larger);
  std::size_t count = 0;
  ASSERT_EQ(bwgemmMatmulGetAlgos(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                 call.c, call.d, &larger[0].algo, 2, &count),
            BWGEMM_STATUS_SUCCESS);
  const std::vector<bwgemmMatmulAlgo_t> algos = algos_of(handle(), call);
  EXPECT_EQ(count, algos.size());
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(larger[i].algo.algo, algos[i].algo);
    EXPECT_EQ(larger[i].algo.structSize, sizeof(Larger));
    EXPECT_EQ(larger[i].later, 0u);
  }
  EXPECT_EQ(larger[2].later, 7u);
}

TEST_F(Algos, ListsObeyTheSettings) {
  MatmulCall call;
  call.desc.k = call.desc.lda = call.desc.ldb = 16384;
  const auto most_splits = [&] {
    int most = 0;
    for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), call))
      most = std::max(most, algo.splits);
    return most;
  };
  EXPECT_GT(most_splits(), 1);
  ASSERT_EQ(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BATCH_INVARIANT),
            BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(most_splits(), 1);
  ASSERT_EQ(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BITWISE), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(most_splits(), 1);
  call.desc.workspace = made_up(0x7f0050000000), call.desc.workspaceSize = 24 << 20;
  EXPECT_GT(most_splits(), 1);
  call.desc.m = 0;
  EXPECT_TRUE(algos_of(handle(), call).empty());
}

TEST_F(Algos, BadAlgosAreRefused) {
  MatmulCall call;
  const auto refused = [&](bwgemmStatus_t status, const char* why) {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), status);
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr(why));
    EXPECT_EQ(fake_cuda().launches(), 0);
  };
  for (const std::int64_t number : {std::int64_t{-2}, std::int64_t{0}, std::int64_t{99},
                                    std::int64_t{1} << 62, INT64_MAX, INT64_MIN}) {
    call.desc.algo = number;
    refused(BWGEMM_STATUS_INVALID_VALUE, "algo is");
  }
  call.desc.algo = algos_of(handle(), MatmulCall{})[0].algo;
  call.a = made_up(0x7f0000000002);
  refused(BWGEMM_STATUS_NOT_SUPPORTED, "does not start at a multiple of 16 bytes");

  MatmulCall deep;
  deep.desc.k = deep.desc.lda = deep.desc.ldb = 16384;
  for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), deep))
    if (algo.splits > 1) deep.desc.algo = algo.algo;
  call = deep;
  ASSERT_NE(call.desc.algo, -1);
  ASSERT_EQ(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BATCH_INVARIANT),
            BWGEMM_STATUS_SUCCESS);
  refused(BWGEMM_STATUS_NOT_SUPPORTED, "batch-invariant");
  ASSERT_EQ(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BITWISE), BWGEMM_STATUS_SUCCESS);
  call.desc.workspaceSize = 1;
  refused(BWGEMM_STATUS_NOT_SUPPORTED, "more workspace");
}

TEST_F(Algos, BadArgumentsOfListsAreRefused) {
  const MatmulCall call;
  bwgemmMatmulAlgo_t algo{};
  std::size_t count = 77;
  const auto get = [&](bwgemmMatmulAlgo_t* algos, std::size_t capacity, std::size_t* to) {
    return bwgemmMatmulGetAlgos(handle(), &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                                call.d, algos, capacity, to);
  };
  EXPECT_EQ(get(&algo, 1, &count), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("structSize is 0"));
  for (const unsigned size : {8u, unsigned{sizeof algo} - 1, 4097u}) {
    algo.structSize = size;
    EXPECT_EQ(get(&algo, 1, &count), BWGEMM_STATUS_INVALID_VALUE) << size;
    const std::string rule = "but must be " + std::to_string(sizeof algo) + " to 4096";
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr(rule));
  }
  algo.structSize = sizeof algo;
  EXPECT_EQ(get(&algo, 1, nullptr), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(get(nullptr, 1, &count), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(bwgemmMatmulGetAlgos(handle(), nullptr, call.alpha, call.a, call.b, call.beta, call.c,
                                 call.d, &algo, 1, &count),
            BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(count, 77u);
  EXPECT_EQ(algo.algo, 0);
}

}  // namespace
}  // namespace bwgemm::test
