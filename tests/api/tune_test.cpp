// SPDX-License-Identifier: Apache-2.0
// BWGEMM_TUNE_ON: which calls measure, how often, within which budget, and what they are given to
// write to.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "api/tuning_test.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;
using Tune = TuneTest;

TEST_F(Tune, IsOffUnlessItIsSet) {
  set_mode(BWGEMM_TUNE_OFF);
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  std::string kernel;
  EXPECT_FALSE(measures(call, &kernel));
  EXPECT_NE(kernel, quick_kernel);
  EXPECT_EQ(fake_cuda().launches(), 1);
  set_mode(BWGEMM_TUNE_ON);
  EXPECT_TRUE(measures(call, &kernel)) << "what was planned before is planned anew";
  EXPECT_EQ(kernel, quick_kernel);
}

TEST_F(Tune, TheFirstCallOfAKindMeasures) {
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  std::string kernel;
  EXPECT_TRUE(measures(call, &kernel));
  EXPECT_EQ(kernel, quick_kernel);
  EXPECT_FALSE(measures(call, &kernel));
  EXPECT_EQ(kernel, quick_kernel);
  // What a warm call asks of the driver, with tuning off, and no more.
  static const std::set<std::string_view> warm = {"cuCtxGetId", "cuCtxGetCurrent",
                                                  "cuStreamIsCapturing", "cuLaunchKernelEx"};
  for (long n = 1; n <= fake_cuda().calls(nullptr); ++n)
    EXPECT_TRUE(warm.count(fake_cuda().call_name(n))) << fake_cuda().call_name(n);
  // The same kind by another entry, at other addresses and with another leading dimension.
  reset();
  GemmArguments gemm;
  gemm.a = device_pointer(0x7f0040000000);
  const float two = 2;
  gemm.alpha = &two;
  gemm.lda = 512;
  ASSERT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(only_launch().kernel, std::string_view(quick_kernel));
  MatmulCall other = call;
  other.desc.m = 255;
  EXPECT_TRUE(measures(other)) << "another kind";
}

TEST_F(Tune, NoiseDoesNotDecideAgainstThePrediction) {
  const MatmulCall call;
  quick_kernel = other_than_predicted(handle(), call);
  fake_cuda().time_launches([](const FakeLaunch& launch) {
    return std::strcmp(launch.kernel, quick_kernel) == 0 ? 2990.0 : 3000.0;
  });
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_TRUE(has_measured());
  EXPECT_EQ(last_kernel(), bwgemmKernelName(algos_of(handle(), call)[0].kernel));
}

// Which need not be the best prediction: of a B200 not the first of those that are predicted alike.
TEST_F(Tune, AmongEqualTimesThePredictedChoiceStays) {
  const ProcessResult result =
      run_self("TuneProbe.DISABLED_EqualTimes", {{"FAKE_CUDA_DEVICE", "b200"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

using TuneProbe = TuneTest;
TEST_F(TuneProbe, DISABLED_EqualTimes) {
  MatmulCall call;
  std::string predicted;
  const auto is_first = [&] {
    set_mode(BWGEMM_TUNE_OFF);
    EXPECT_FALSE(measures(call, &predicted));
    set_mode(BWGEMM_TUNE_ON);
    return predicted == bwgemmKernelName(algos_of(handle(), call)[0].kernel);
  };
  for (int i = 0; i < 200 && is_first(); ++i) {
    call.desc.m = 200 + 37 * i, call.desc.n = 500 + 91 * i;
    call.desc.k = call.desc.lda = call.desc.ldb = 592;
    call.desc.ldd = call.desc.ldc = 16384;
  }
  ASSERT_FALSE(is_first()) << "no such problem";
  std::string kernel;
  EXPECT_TRUE(measures(call, &kernel));
  EXPECT_EQ(kernel, predicted);
}

TEST_F(Tune, KeepsToItsBudgetOfTime) {
  const MatmulCall call;
  const auto launches_of = [&](double (*us)(const FakeLaunch&)) {
    EXPECT_EQ(bwgemmSetTuningCache(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
    bwgemmHandle_t fresh = nullptr;
    EXPECT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(bwgemmSetTuneMode(fresh, BWGEMM_TUNE_ON), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    fake_cuda().time_launches(us);
    EXPECT_EQ(matmul(fresh, call), BWGEMM_STATUS_SUCCESS);
    const long launches = fake_cuda().launches();
    EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
    return launches - 1;  // the call's own
  };
  EXPECT_EQ(launches_of([](const FakeLaunch&) { return 100.0; }), 8 * (1 + 5));
  EXPECT_EQ(launches_of([](const FakeLaunch&) { return 1e4; }), 3 * 2);  // of 10 ms
  EXPECT_EQ(launches_of([](const FakeLaunch&) { return 1e6; }), 2 * 2) << "two in any case";
}

TEST_F(Tune, WhatIsTooLargeIsPredicted) {
  MatmulCall wide;  // an output above 512 MiB
  wide.desc.m = wide.desc.ldc = wide.desc.ldd = 65536;
  wide.desc.n = 8192;
  wide.desc.k = wide.desc.lda = wide.desc.ldb = 64;
  EXPECT_FALSE(measures(wide));
  MatmulCall slow;  // 1.8e13 operations
  slow.desc.m = slow.desc.n = slow.desc.ldc = slow.desc.ldd = 8192;
  slow.desc.k = slow.desc.lda = slow.desc.ldb = 131072;
  EXPECT_FALSE(measures(slow));
  MatmulCall many = MatmulCall::with_arrays();
  many.desc.batchCount = std::int64_t{1} << 20;
  many.desc.m = 4096, many.desc.ldd = many.desc.ldc = 4096;
  EXPECT_FALSE(measures(many));
}

TEST_F(Tune, CallsThatLeaveNothingToChooseDoNotMeasure) {
  MatmulCall call;
  call.desc.algo = algos_of(handle(), call)[3].algo;
  EXPECT_FALSE(measures(call));
  call = {};
  call.alpha = &MatmulCall::zero;
  EXPECT_FALSE(measures(call)) << "scale only";
  EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0) << "nor is anything made for it";
  call = {};
  call.desc.m = 0;
  EXPECT_FALSE(measures(call));
  call.desc.m = 256;
  EXPECT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS);
  EXPECT_FALSE(has_measured());
}

// ---- what is written ----------------------------------------------------------------------------

struct MeasuringEntry {
  const char* name;
  bwgemmStatus_t (*call)(bwgemmHandle_t);
};

bwgemmStatus_t batched_ex(bwgemmHandle_t handle) {
  const auto array = [](std::uintptr_t address) { return reinterpret_cast<void**>(address); };
  return bwgemmGemmBatchedEx(handle, BWGEMM_OP_T, BWGEMM_OP_N, 256, 256, 256, &MatmulCall::one,
                             array(0x7f0000000000), BWGEMM_R_16BF, 256, array(0x7f0010000000),
                             BWGEMM_R_16BF, 256, &MatmulCall::one, array(0x7f0020000000),
                             BWGEMM_R_16BF, 256, 3, BWGEMM_COMPUTE_32F, -1);
}

TEST_F(Tune, EveryEntryMeasures) {
  const MeasuringEntry entries[] = {
      {"bwgemmGemmEx", [](auto h) { return gemm_ex(h, {}); }},
      {"bwgemmGemmStridedBatchedEx", [](auto h) { return gemm_batched(h, {}); }},
      {"bwgemmGemmBatchedEx", batched_ex},
      {"bwgemmBf16",
       [](auto h) {
         GemmArguments gemm;
         gemm.m = 248;
         return gemm_bf16(h, gemm);
       }},
      {"bwgemmF16", [](auto h) { return gemm_f16(h, {}); }},
      {"bwgemmMatmul", [](auto h) { return matmul(h, MatmulCall::with_bias()); }},
  };
  for (const MeasuringEntry& entry : entries)
    for (const bool is_first : {true, false}) {
      reset();
      EXPECT_EQ(entry.call(handle()), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      EXPECT_EQ(has_measured(), is_first) << entry.name;
    }
}

struct Written {
  const char* name;
  MatmulCall call;
  int launches = 1;  // of the call itself
};

std::vector<Written> written() {
  std::vector<Written> all = {{"plain", {}},
                              {"batched", MatmulCall::batched()},
                              {"arrays", MatmulCall::with_arrays()},
                              {"bias", MatmulCall::with_bias()},
                              {"aux", MatmulCall::with_aux()},
                              {"gate", MatmulCall::gated()},
                              {"gradient", MatmulCall::with_gradient(), 2},
                              {"copied", MatmulCall::copied(), 2},
                              {"split", MatmulCall::split()}};
  const auto added = [&](const char* name, MatmulCall call) {
    call.beta = &MatmulCall::one;
    call.c = call.d;
    all.push_back({name, call});
  };
  added("added to D", {});
  added("batches added to D", MatmulCall::batched());
  added("arrays added to D", MatmulCall::with_arrays());
  added("added to D, with aux", MatmulCall::with_aux());
  MatmulCall apart;
  apart.beta = &MatmulCall::one;
  all.push_back({"C apart", apart});
  MatmulCall divided;
  divided.desc.m = divided.desc.n = divided.desc.ldb = divided.desc.ldc = divided.desc.ldd = 8192;
  divided.desc.k = 8191, divided.desc.lda = 8193;
  all.push_back({"divided", divided, 8});
  return all;
}

TEST_F(Tune, OnlyTheCallItselfIsGivenItsOutputs) {
  for (const Written& item : written()) {
    ASSERT_TRUE(measures(item.call)) << item.name;
    const bool reads_c = item.call.beta == &MatmulCall::one;
    const long launches = fake_cuda().launches(), measured = launches - item.launches;
    ASSERT_GE(measured, 4) << item.name;
    for (long n = 0; n < measured; ++n) {
      const FakeLaunch& launch = *fake_cuda().launch(n);
      EXPECT_FALSE(is_given(launch, item.call.d)) << item.name << ", launch " << n;
      if (item.call.desc.aux != nullptr) {
        EXPECT_FALSE(is_given(launch, item.call.desc.aux)) << item.name;
      }
      EXPECT_FALSE(launch.is_sums()) << item.name;
      // C apart is read where it lies; C that is D lies with D.
      if (!launch.is_copy() && reads_c && item.call.c != item.call.d) {
        EXPECT_TRUE(is_given(launch, item.call.c)) << item.name;
      }
    }
    const FakeLaunch& own = *fake_cuda().launch(measured);
    EXPECT_TRUE(own.is_copy() || is_given(own, item.call.d)) << item.name;
  }
}

// As the call will: a kernel that finds C where D is works in another way.
TEST_F(Tune, CThatIsDIsMeasuredAsSuch) {
  MatmulCall call;
  call.beta = &MatmulCall::one;
  call.c = call.d;
  ASSERT_TRUE(measures(call));
  for (long n = 0; n < fake_cuda().launches(); ++n) {
    const MappedParams& params = fake_cuda().launch(n)->params;
    EXPECT_EQ(params.c.data, params.d.data) << n;
    EXPECT_EQ(params.c_map.opaque[0], params.d_map.opaque[0]) << n;
  }
}

TEST_F(Tune, AuxThatIsReadIsTheCallers) {
  const MatmulCall call = MatmulCall::with_aux(BWGEMM_AUX_DERIVATIVE);
  ASSERT_TRUE(measures(call));
  for (long n = 0; n < fake_cuda().launches(); ++n)
    EXPECT_TRUE(is_given(*fake_cuda().launch(n), call.desc.aux)) << n;
}

// ---- settings -----------------------------------------------------------------------------------

TEST_F(Tune, CandidatesKeepToTheSettings) {
  MatmulCall deep;
  deep.desc.m = deep.desc.n = 64, deep.desc.k = deep.desc.lda = deep.desc.ldb = 16384;
  const auto most_splits = [&] {
    std::int32_t most = 0;
    for (long n = 0; n < fake_cuda().launches(); ++n)
      most = std::max(most, fake_cuda().launch(n)->params.splits);
    return most;
  };
  ASSERT_TRUE(measures(deep));
  EXPECT_GT(most_splits(), 1);
  ASSERT_EQ(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BATCH_INVARIANT),
            BWGEMM_STATUS_SUCCESS);
  ASSERT_TRUE(measures(deep)) << "a kind of its own";
  EXPECT_EQ(most_splits(), 1);
  ASSERT_EQ(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BITWISE), BWGEMM_STATUS_SUCCESS);
  EXPECT_FALSE(measures(deep)) << "known";
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  ASSERT_TRUE(measures(deep)) << "a kind of its own";
  for (long n = 0; n < fake_cuda().launches(); ++n)
    EXPECT_EQ(fake_cuda().launch(n)->params.partials, nullptr);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, std::size_t{32} << 20), BWGEMM_STATUS_SUCCESS);
  EXPECT_FALSE(measures(deep));
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), 10), BWGEMM_STATUS_SUCCESS);
  ASSERT_TRUE(measures(deep)) << "a kind of its own";
  for (long n = 0; n < fake_cuda().launches(); ++n)
    EXPECT_LE(fake_cuda().launch(n)->grid, 10u * 3);  // CTAs of a multiprocessor
}

TEST_F(Tune, ExplainSaysThatAMeasurementDecided) {
  const MatmulCall call;
  const auto explained = [&] {
    std::string text(1 << 15, '\0');
    EXPECT_EQ(explain(handle(), call, text.data(), text.size()), BWGEMM_STATUS_SUCCESS);
    return text;
  };
  EXPECT_THAT(explained(), Not(HasSubstr("by measurement")));
  fake_cuda().fail_entry("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(explained(), Not(HasSubstr("by measurement"))) << "a measurement that failed";
  set_mode(BWGEMM_TUNE_OFF);
  set_mode(BWGEMM_TUNE_ON);
  quick_kernel = other_than_predicted(handle(), call);
  ASSERT_TRUE(measures(call));
  EXPECT_THAT(explained(), HasSubstr("\nchosen     by measurement\n"));
  EXPECT_THAT(explained(), HasSubstr(std::string("kernel     ").append(quick_kernel)));
}

}  // namespace
}  // namespace bwgemm::test
