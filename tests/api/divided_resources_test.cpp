// SPDX-License-Identifier: Apache-2.0
// What divided calls take of the handle and the driver: captures, preloading, tuning and threads;
// and what becomes of them when the driver fails or the workspace is too small for any part.
#include <array>
#include <atomic>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "api/capturing_test.h"
#include "api/divided_call.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

constexpr long all_launches = 2 * DividedCall::parts;

bool is_of_a_part(const FakeLaunch& launch) {
  return launch.is_copy() || launch.params.m < DividedCall::extent ||
         launch.params.n < DividedCall::extent;
}

class DividedResources : public CapturingTest {
 protected:
  MatmulCall divided(Loose loose = Loose::b) const {
    return with_copying_algo(handle(), DividedCall::of(loose));
  }

  // Larger than what the library has for copies; TMA cannot load A.
  static MatmulCall large() {
    MatmulCall call = DividedCall::of(Loose::a, BWGEMM_OP_T, BWGEMM_OP_N, 8192, 8192);
    call.desc.k = 8191, call.desc.lda = 8193, call.desc.ldb = 8192;
    call.desc.workspace = nullptr, call.desc.workspaceSize = 0;
    return call;
  }
};

// ---- captures and preloading --------------------------------------------------------------------

TEST_F(DividedResources, AreCapturedWithScratchOfTheCapture) {
  MatmulCall call = DividedCall::of(Loose::b);
  call.desc.workspace = nullptr;
  call = with_copying_algo(handle(), call);
  const void* before = launches_of(handle(), call)[0].copies.operands[0].to;
  std::vector<std::unique_ptr<Graph>> graphs;
  for (int i = 0; i < 2; ++i) {
    begin_capture();
    const std::vector<FakeLaunch> launches = launches_of(handle(), call);
    ASSERT_EQ(launches.size(), static_cast<std::size_t>(all_launches));
    const void* const place = launches[0].copies.operands[0].to;
    EXPECT_NE(place, before) << "graphs may be replayed at once";
    before = place;
    graphs.push_back(end_capture());
    ASSERT_NE(graphs.back(), nullptr);
    fake_cuda().reset();
    graphs.back()->launch(stream());
    ASSERT_EQ(fake_cuda().launches(), all_launches);
    for (long n = 0; n < all_launches; ++n) {
      const FakeLaunch& replayed = *fake_cuda().launch(n);
      EXPECT_TRUE(replayed.is_replayed);
      expect_equal(replayed, launches[static_cast<std::size_t>(n)]);
      if (!replayed.is_copy()) continue;
      EXPECT_EQ(replayed.copies.operands[0].to, place);
    }
  }
}

TEST_F(DividedResources, TheFirstCallMayBeCaptured) {
  const MatmulCall call = large();
  begin_capture();
  EXPECT_EQ(launches_of(handle(), call).size(), 8u);
  EXPECT_NE(end_capture(), nullptr);
}

TEST_F(DividedResources, ArePreloaded) {
  const MatmulCall call = large();
  ASSERT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  const long loaded = fake_cuda().calls("cuLibraryLoadData");
  EXPECT_EQ(fake_cuda().launches(), 0);
  MatmulCall with_c = call;
  with_c.beta = &MatmulCall::one;
  with_c.c = with_c.d;
  std::set<std::string> kernels;
  for (const MatmulCall& one : {with_c, call}) {
    const std::vector<FakeLaunch> launches = launches_of(handle(), one);
    EXPECT_EQ(launches.size(), 8u);
    for (const FakeLaunch& launch : launches) kernels.emplace(launch.kernel);
    expect_nothing_is_made("launched");
  }
  EXPECT_EQ(static_cast<std::size_t>(loaded), kernels.size())
      << "the copies' kernel, and the products'";
}

// The last part's copy alone would have a smaller buffer.
TEST_F(DividedResources, ShareTheScratchOfTheLargestPart) {
  MatmulCall call;
  bwgemmMatmulDesc_t& desc = call.desc;
  desc.transa = desc.transb = BWGEMM_OP_N;
  desc.m = desc.lda = desc.ldc = desc.ldd = 4096;
  desc.n = 268, desc.k = desc.ldb = 64001;
  ASSERT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  EXPECT_EQ(launches_of(handle(), call).size(), 4u);
  expect_nothing_is_made("launched");
}

TEST_F(DividedResources, ArePreloadedForCaptures) {
  const MatmulCall call = large();
  begin_capture();
  end_capture();
  ASSERT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  begin_capture();
  EXPECT_EQ(launches_of(handle(), call).size(), 8u);
  expect_nothing_is_made("launched");
  EXPECT_NE(end_capture(), nullptr);
}

// One of two operands is copied, in one piece.
TEST_F(DividedResources, TheCopyOfOneOfTwoIsPreloaded) {
  const Variable forced("BWGEMM_FORCE_OPERANDS", "copied_b");
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  const MatmulCall call = MatmulCall::copied();
  ASSERT_EQ(bwgemmPreload(other, &call.desc), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().calls("cuLibraryLoadData"), 2);
  EXPECT_EQ(launches_of(other, call).size(), 2u);
  expect_nothing_is_made("launched");
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
}

// ---- tuning -------------------------------------------------------------------------------------

TEST_F(DividedResources, AreTimedAsAWhole) {
  MatmulCall call = DividedCall::of(Loose::both);
  const bwgemmAutotuneOptions_t options{sizeof options, 200, 2, 0, 0};
  const auto tuned = [&] {
    std::int64_t algo = 0;
    EXPECT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                   call.c, call.d, &options, &algo),
              BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
    int operands = -1;
    for (const bwgemmMatmulAlgo_t& listed : algos_of(handle(), call))
      if (listed.algo == algo) operands = listed.copiesOperands;
    return operands;
  };
  const auto expect_launches = [&](std::size_t expected) {
    EXPECT_EQ(launches_of(handle(), call).size(), expected);
    MatmulCall moved = call;
    moved.a = made_up(0x7f0100000000);
    EXPECT_EQ(launches_of(handle(), moved).size(), expected);
  };
  // Six launches of 20 us are slower than one of 100 us, six of 10 us are not.
  fake_cuda().time_launches(
      [](const FakeLaunch& launch) { return is_of_a_part(launch) ? 20.0 : 100.0; });
  EXPECT_EQ(tuned(), 0);
  expect_launches(1);
  fake_cuda().time_launches(
      [](const FakeLaunch& launch) { return is_of_a_part(launch) ? 10.0 : 100.0; });
  EXPECT_EQ(tuned(), 2);
  expect_launches(all_launches);
  // Where no part fits it is left out.
  call.desc.workspaceSize = 4096;
  expect_launches(1);
}

TEST_F(DividedResources, ATuningCacheKeepsThem) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("bwgemm_divided_" + std::to_string(getpid())))
          .string();
  ASSERT_EQ(bwgemmSetTuningCache(handle(), path.c_str()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().time_launches(
      [](const FakeLaunch& launch) { return is_of_a_part(launch) ? 10.0 : 100.0; });
  MatmulCall call = DividedCall::of(Loose::both);
  const bwgemmAutotuneOptions_t options{sizeof options, 200, 2, 0, 0};
  ASSERT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                 call.c, call.d, &options, nullptr),
            BWGEMM_STATUS_SUCCESS);
  const std::vector<FakeLaunch> expected = launches_of(handle(), call);
  EXPECT_EQ(expected.size(), static_cast<std::size_t>(all_launches));
  {
    const Variable file("BWGEMM_TUNING_CACHE", path);
    expect_equal(launches_of_new_handle(call), expected);
  }
  EXPECT_EQ(launches_of_new_handle(call).size(), 1u) << "what would be chosen otherwise";
  std::filesystem::remove(path);
}

// Only the last of the tuned launches writes to D what adds C to D: all of its parts.
TEST_F(DividedResources, TuningAddsCToDOnce) {
  MatmulCall call = DividedCall::of(Loose::both);
  call.beta = &MatmulCall::one, call.c = call.d;
  fake_cuda().time_launches(
      [](const FakeLaunch& launch) { return is_of_a_part(launch) ? 1.0 : 100.0; });
  const bwgemmAutotuneOptions_t options{sizeof options, 40, 2, 0, 0};
  ASSERT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                 call.c, call.d, &options, nullptr),
            BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  const long count = fake_cuda().launches();
  std::vector<FakeLaunch> last;
  for (long n = count - all_launches; n < count; ++n) last.push_back(*fake_cuda().launch(n));
  const auto in_d = [&](const FakeLaunch& launch) {
    const auto begin = reinterpret_cast<std::uintptr_t>(call.d);
    const std::uintptr_t at = launch.params.d.data != nullptr
                                  ? reinterpret_cast<std::uintptr_t>(launch.params.d.data)
                                  : launch.params.d_map.opaque[0];
    return at >= begin && at < begin + 2 * 1304 * 1304;
  };
  for (long n = 0; n < count; ++n) {
    const FakeLaunch& launch = *fake_cuda().launch(n);
    EXPECT_EQ(!launch.is_copy() && in_d(launch), !launch.is_copy() && n >= count - all_launches)
        << n;
  }
  expect_equal(launches_of(handle(), call), last);
}

// ---- refusals -----------------------------------------------------------------------------------

TEST_F(DividedResources, AlgosAreRefusedWhereNoPartFits) {
  constexpr int most_parts = 64;
  constexpr std::int64_t least = 256;  // columns of a part
  const auto call_of = [](std::int64_t n) {
    return DividedCall::of(Loose::b, BWGEMM_OP_T, BWGEMM_OP_N, 64, n);
  };
  MatmulCall call = with_copying_algo(handle(), call_of(most_parts * least));
  const auto refused = [&](const char* why) {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_NOT_SUPPORTED);
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr(why));
    EXPECT_EQ(fake_cuda().launches(), 0);
  };
  constexpr std::size_t enough = 2 * least * 1088;
  call.desc.workspaceSize = enough;
  EXPECT_EQ(launches_of(handle(), call).size(), 2u * most_parts);
  EXPECT_EQ(launches_of(handle(), call).size(), 2u * most_parts);
  call.desc.workspaceSize = enough - 1;
  refused("copies of operands need more workspace");
  call.desc.workspace = nullptr, call.desc.workspaceSize = 1;
  refused("copies of operands need more workspace");
  const std::int64_t algo = call.desc.algo;
  call = call_of(most_parts * least + 1);
  call.desc.algo = algo, call.desc.workspaceSize = enough;
  refused("copies of operands need more workspace");
  // Neither are batches divided, nor what sums are added up of.
  call = DividedCall::of(Loose::b);
  call.desc.algo = algo, call.desc.batchCount = 2;
  call.desc.strideB = 1304 * 1041, call.desc.strideD = 1304 * 1304;
  refused("copies of operands need more workspace");
  call = DividedCall::of(Loose::b);
  call.desc.algo = algo;
  call.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_B;
  call.desc.biasGradient = made_up(0x7f0038000000);
  refused("copies of operands need more workspace");
  call = DividedCall::of(Loose::a);
  call.desc.lda = 1040, call.desc.algo = algo;
  refused("it copies operands, but none");
}

TEST_F(DividedResources, WhatCannotBeDividedIsComputedInPlace) {
  const Variable forced("BWGEMM_FORCE_OPERANDS", "copied");
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  MatmulCall batched = DividedCall::of(Loose::b), small = batched,
             both = DividedCall::of(Loose::both);
  batched.desc.batchCount = 2;
  batched.desc.strideB = 1304 * 1041, batched.desc.strideD = 1304 * 1304;
  small.desc.workspaceSize = 4096;
  for (const MatmulCall& call : {batched, small, both})
    EXPECT_EQ(launches_of(other, call).size(), 1u);
  EXPECT_EQ(launches_of(other, DividedCall::of(Loose::b)).size(),
            static_cast<std::size_t>(all_launches));
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
}

// Not even where the workspace has room for some beside the copies.
TEST_F(DividedResources, HaveNoSplitsOfK) {
  constexpr std::int64_t m = 600, k = 8191, lines = 512;
  MatmulCall call = DividedCall::of(Loose::a, BWGEMM_OP_T, BWGEMM_OP_N, m, 16);
  call.desc.k = k, call.desc.lda = k, call.desc.ldb = k + 1;
  call.desc.workspaceSize = 2 * (k + 1) * lines + (std::size_t{1} << 20);
  for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), call))
    EXPECT_TRUE(algo.copiesOperands == 0 || algo.splits == 1) << algo.splits;
  const Variable operands("BWGEMM_FORCE_OPERANDS", "copied"), splits("BWGEMM_FORCE_SPLITS", "4");
  const std::vector<FakeLaunch> launches = launches_of_new_handle(call);
  ASSERT_EQ(launches.size(), 4u);
  for (const std::size_t product : {1, 3}) EXPECT_EQ(launches[product].params.splits, 1);

  MatmulCall whole = call;
  whole.desc.workspaceSize *= 2;
  int refused = 0;
  for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), whole)) {
    if (algo.copiesOperands == 0 || algo.splits == 1 || ++refused > 9) continue;
    call.desc.algo = algo.algo;
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_NOT_SUPPORTED);
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("k is split, and the product is divided"));
  }
  EXPECT_GT(refused, 0);
}

// ---- failures -----------------------------------------------------------------------------------

// Of whichever launch, known or not: what came before it stays, nothing follows it.
TEST_F(DividedResources, AFailingLaunchEndsTheCall) {
  const MatmulCall call = divided();
  const std::vector<FakeLaunch> expected = launches_of(handle(), call);
  const auto forget = [&] {
    for (const std::size_t size : {1, 0})
      ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, size), BWGEMM_STATUS_SUCCESS);
  };
  for (const bool is_known : {true, false})
    for (int failing = 1; failing <= all_launches; ++failing) {
      if (!is_known) forget();
      expect_equal(launches_of(handle(), call), expected);
      const long number = call_of("cuLaunchKernelEx", failing);
      if (!is_known) forget();
      fake_cuda().reset();
      fake_cuda().fail_call(number, CUDA_ERROR_ILLEGAL_ADDRESS);
      EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_EXECUTION_FAILED);
      EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("was not launched"));
      EXPECT_EQ(fake_cuda().calls("cuLaunchKernelEx"), failing);
      EXPECT_EQ(fake_cuda().launches(), failing - 1);
      expect_equal(launches_of(handle(), call), expected);
    }
}

// Parts are planned before the first is launched.
TEST_F(DividedResources, AMapThatCannotBeMadeLaunchesNothing) {
  const MatmulCall call = divided();
  for (int failing = 0; failing <= 4; ++failing) {
    bwgemmHandle_t fresh = nullptr;
    ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    launches_of(fresh, call);
    const long number = call_of("cuTensorMapEncodeTiled", failing + 1);
    ASSERT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    fake_cuda().fail_call(number, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(matmul(fresh, call), BWGEMM_STATUS_INTERNAL_ERROR);
    EXPECT_EQ(fake_cuda().launches(), 0);
    expect_equal(launches_of(fresh, call), launches_of(handle(), call));
    EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
  }
}

// ---- threads ------------------------------------------------------------------------------------

// One handle, one stream, one workspace: each copy is followed by its product, and each call's
// parts by each other.
TEST_F(DividedResources, CallsOfManyThreadsKeepTheirParts) {
  constexpr int threads = 6, rounds = 40;
  std::array<float, threads> alphas{};
  std::array<MatmulCall, threads> calls{};
  std::array<std::vector<FakeLaunch>, threads> expected;
  for (std::size_t i = 0; i < threads; ++i) {
    alphas[i] = static_cast<float>(i + 1);
    calls[i] = divided(i % 3 == 0 ? Loose::a : Loose::b);
    calls[i].alpha = &alphas[i];
    calls[i].a = made_up(0x7f0100000000 + 4096 * i);
    calls[i].b = made_up(0x7f0200000000 + 4096 * i);
    calls[i].d = made_up(0x7f0300000000 + 4096 * i);
    expected[i] = launches_of(handle(), calls[i]);
    ASSERT_EQ(expected[i].size(), static_cast<std::size_t>(all_launches));
  }
  fake_cuda().reset();
  std::atomic<int> waiting{threads};
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      for (int round = 0; round < rounds; ++round)
        EXPECT_EQ(matmul(handle(), calls[i]), BWGEMM_STATUS_SUCCESS);
    });
  for (std::thread& one : running) one.join();
  ASSERT_EQ(fake_cuda().launches(), all_launches * threads * rounds);
  std::array<std::size_t, threads> next{};
  for (long n = 0; n < fake_cuda().launches(); n += 2) {
    const FakeLaunch &copy = *fake_cuda().launch(n), &product = *fake_cuda().launch(n + 1);
    ASSERT_TRUE(copy.is_copy() && !product.is_copy()) << n;
    const auto i = static_cast<std::size_t>(product.params.alpha.value) - 1;
    ASSERT_LT(i, expected.size());
    expect_equal(copy, expected[i][next[i]]);
    expect_equal(product, expected[i][next[i] + 1]);
    if (HasFailure()) return;
    next[i] = (next[i] + 2) % static_cast<std::size_t>(all_launches);
  }
}

}  // namespace
}  // namespace bwgemm::test
