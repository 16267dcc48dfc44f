// SPDX-License-Identifier: Apache-2.0
// What calls that copy operands take of the handle and the driver: workspace beside partial sums,
// scratch of captures, kernels loaded beforehand; and what becomes of them when that fails.
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "api/capturing_test.h"
#include "support/algo_list.h"
#include "support/copied_call.h"
#include "support/matmul_call.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

class CopiesResources : public CapturingTest {
 protected:
  CopiedCall copied(const MatmulCall& call) const {
    return copied_call([&] { return matmul(handle(), call); });
  }
};

// ---- workspace ----------------------------------------------------------------------------------

// Few tiles of long sums, whose splits are added in memory, behind the copies.
TEST_F(CopiesResources, PartialSumsLieBehindTheCopies) {
  const Variable operands("BWGEMM_FORCE_OPERANDS", "copied"), sums("BWGEMM_FORCE_SUMS", "memory");
  const Variable splits("BWGEMM_FORCE_SPLITS", "4");
  bwgemmHandle_t forced = nullptr;
  ASSERT_EQ(bwgemmCreate(&forced), BWGEMM_STATUS_SUCCESS);
  GemmArguments gemm = GemmArguments::copied();
  gemm.m = gemm.n = gemm.ldc = 256;
  gemm.k = gemm.lda = gemm.ldb = 4095;
  constexpr std::size_t copies = 2 * 2 * 256 * 4096;
  std::size_t size = 0;
  gemm.workspace_size = &size;
  ASSERT_EQ(workspace_size(forced, gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_GE(size, copies + sizeof(float) * 4 * 256 * 256);
  const auto again = [&] { return gemm_ex(forced, gemm); };
  ASSERT_EQ(bwgemmSetWorkspace(forced, device_pointer(0x7f0060000000), size),
            BWGEMM_STATUS_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    const auto [copy, product] = copied_call(again);
    EXPECT_EQ(copy.copies.operands[0].to, device_pointer(0x7f0060000000));
    ASSERT_EQ(product.params.splits, 4);
    EXPECT_EQ(product.params.partials, device_pointer(0x7f0060000000 + copies));
    EXPECT_NE(product.params.arrivals, nullptr);
  }
  ASSERT_EQ(bwgemmSetWorkspace(forced, nullptr, size), BWGEMM_STATUS_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    const auto [copy, product] = copied_call(again);
    EXPECT_EQ(static_cast<void*>(product.params.partials),
              static_cast<char*>(copy.copies.operands[0].to) + copies);
  }
  ASSERT_EQ(bwgemmSetWorkspace(forced, nullptr, copies), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(copied_call(again).product.params.splits, 1) << "copies go before splits";
  EXPECT_EQ(bwgemmDestroy(forced), BWGEMM_STATUS_SUCCESS);
}

TEST_F(CopiesResources, TheEnvironmentForcesThem) {
  struct Case {
    const char *operands, *kernel;
    bool is_small;
    const char* copied;
  };
  const char *const direct = "bwgemm_sm90_b16_64x64x32_direct",
                    *const tma = "bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop";
  const char *const nothing = "", *const both = "A and B";
  for (const Case& of : {Case{"", "", false, both}, Case{"", "", true, nothing},
                         Case{"in_place", "", false, nothing}, Case{"copied", "", true, both},
                         Case{"copied_a", "", false, "A"}, Case{"copied_a", "", true, "A"},
                         Case{"copied_b", "", false, "B"}, Case{"copied_b", "", true, "B"},
                         Case{"anything", "", false, both}, Case{"copied_", "", false, both},
                         Case{"", direct, false, nothing}, Case{"copied", direct, false, both},
                         Case{"copied_a", direct, false, "A"}, Case{"copied_b", direct, true, "B"},
                         Case{"copied", tma, false, both}}) {
    SCOPED_TRACE(std::string(of.operands) + ", " + of.kernel);
    const Variable operands("BWGEMM_FORCE_OPERANDS", of.operands);
    const Variable kernel("BWGEMM_FORCE_KERNEL", of.kernel);
    bwgemmHandle_t forced = nullptr;
    ASSERT_EQ(bwgemmCreate(&forced), BWGEMM_STATUS_SUCCESS);
    GemmArguments gemm = of.is_small ? GemmArguments::unaligned() : GemmArguments::copied();
    fake_cuda().reset();
    ASSERT_EQ(gemm_ex(forced, gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    const bool is_copied = of.copied != nothing;
    ASSERT_EQ(fake_cuda().launches(), is_copied ? 2 : 1);
    if (is_copied) {
      const auto& copied = fake_cuda().launch(0)->copies.operands;
      EXPECT_EQ(copied[0].units > 0, *of.copied == 'A');
      EXPECT_EQ(copied[1].units > 0, of.copied == both || *of.copied == 'B');
    }
    char text[32768];
    gemm.text = text, gemm.text_size = sizeof text;
    ASSERT_EQ(explain(nullptr, gemm), BWGEMM_STATUS_SUCCESS);
    const std::string h200 = std::string(text).substr(0, std::string(text).find("Nominal B200"));
    const std::string line = "\ncopied     " + std::string(of.copied) + (is_copied ? " first" : "");
    EXPECT_EQ(h200.find(line) != std::string::npos, is_copied) << "without a handle too";
    EXPECT_EQ(bwgemmDestroy(forced), BWGEMM_STATUS_SUCCESS);
  }
}

// A kernel that has to find both where TMA can load them cannot serve a copy of one.
TEST_F(CopiesResources, AKernelThatNeedsBothRefusesACopyOfOne) {
  const Variable operands("BWGEMM_FORCE_OPERANDS", "copied_a");
  const Variable kernel("BWGEMM_FORCE_KERNEL", "bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop");
  bwgemmHandle_t forced = nullptr;
  ASSERT_EQ(bwgemmCreate(&forced), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  EXPECT_EQ(gemm_ex(forced, GemmArguments::copied()), BWGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("leading dimension of B"));
  EXPECT_EQ(fake_cuda().launches(), 0);
  EXPECT_EQ(bwgemmDestroy(forced), BWGEMM_STATUS_SUCCESS);
}

// The library's memory of a lower limit is too small for the splits of some that tuning tries, and
// replaced for all: those whose copies fitted have them elsewhere then.
TEST_F(CopiesResources, AreFoundByTuningAfterTheLimitRose) {
  MatmulCall call = MatmulCall::copied();
  call.desc.m = call.desc.ldc = call.desc.ldd = 384;
  call.desc.n = 512;
  call.desc.k = call.desc.lda = call.desc.ldb = 2063;
  constexpr std::size_t copies = 2 * (384 + 512) * 2112;
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, copies), BWGEMM_STATUS_SUCCESS);
  copied(call);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, std::size_t{24} << 20), BWGEMM_STATUS_SUCCESS);
  const bwgemmAutotuneOptions_t options{sizeof options, 25, 2, 0, 0};
  EXPECT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                 call.c, call.d, &options, nullptr),
            BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
}

// ---- captures and preloading --------------------------------------------------------------------

TEST_F(CopiesResources, AreCapturedWithScratchOfTheCapture) {
  const void* const outside = copied(MatmulCall::copied()).copy.copies.operands[0].to;
  const void* before = outside;
  std::vector<std::unique_ptr<Graph>> graphs;
  for (int i = 0; i < 2; ++i) {
    begin_capture();
    const CopiedCall first = copied(MatmulCall::copied()), second = copied(MatmulCall::copied());
    EXPECT_TRUE(first.copy.is_captured && first.product.is_captured);
    EXPECT_NE(first.copy.copies.operands[0].to, before) << "graphs may be replayed at once";
    EXPECT_NE(first.copy.copies.operands[0].to, outside);
    EXPECT_EQ(first.copy.copies.operands[0].to, second.copy.copies.operands[0].to) << "it follows";
    EXPECT_EQ(first.loaded()[0], first.copy.copies.operands[0].to);
    before = first.copy.copies.operands[0].to;
    graphs.push_back(end_capture());
    ASSERT_NE(graphs.back(), nullptr);
    fake_cuda().reset();
    graphs.back()->launch(stream());
    ASSERT_EQ(fake_cuda().launches(), 4);
    for (long n = 0; n < 4; ++n) {
      EXPECT_TRUE(fake_cuda().launch(n)->is_replayed);
      EXPECT_EQ(fake_cuda().launch(n)->is_copy(), n % 2 == 0);
    }
  }
}

TEST_F(CopiesResources, TheFirstCallMayBeCaptured) {
  begin_capture();
  EXPECT_TRUE(copied(MatmulCall::copied()).product.is_captured);
  EXPECT_NE(end_capture(), nullptr);
}

TEST_F(CopiesResources, ArePreloaded) {
  MatmulCall call = MatmulCall::copied();
  call.desc.ldc = 0;  // with a C, preloading may load a second kernel of the product
  call.c = nullptr;
  ASSERT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  EXPECT_EQ(fake_cuda().calls("cuLibraryLoadData"), 2) << "the product's kernel and the copies'";
  EXPECT_EQ(fake_cuda().launches(), 0);
  copied(call);
  expect_nothing_is_made("the first call");
}

TEST_F(CopiesResources, ArePreloadedForCaptures) {
  const MatmulCall call = MatmulCall::copied();
  begin_capture();
  end_capture();
  ASSERT_EQ(bwgemmPreload(handle(), &call.desc), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  begin_capture();
  copied(call);
  expect_nothing_is_made("captured");
  EXPECT_NE(end_capture(), nullptr);

  begin_capture();
  ASSERT_EQ(bwgemmPreload(handle(), nullptr), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  copied(call);
  expect_nothing_is_made("after a preload in the capture");
  EXPECT_NE(end_capture(), nullptr);
}

// ---- failures -----------------------------------------------------------------------------------

TEST_F(CopiesResources, ACopyThatIsNotLaunchedKeepsTheProductFromIt) {
  const MatmulCall call = MatmulCall::copied();
  for (int i = 0; i < 2; ++i) {  // the second time of a known plan
    fake_cuda().reset();
    fake_cuda().fail_entry("cuLaunchKernelEx", CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_EXECUTION_FAILED);
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("bwgemm_sm90_copy was not launched"));
    EXPECT_EQ(fake_cuda().calls("cuLaunchKernelEx"), 1);
    EXPECT_EQ(fake_cuda().launches(), 0);
    copied(call);
  }
  // A product that is not launched leaves copies that nobody reads.
  copied(call);
  const long product = call_of("cuLaunchKernelEx", 2);
  fake_cuda().reset();
  fake_cuda().fail_call(product, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(fake_cuda().launches(), 1);
  copied(call);
}

TEST_F(CopiesResources, NothingIsLaunchedWithoutTheirKernel) {
  const MatmulCall call = MatmulCall::copied();
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  copied_call([&] { return matmul(other, call); });
  ASSERT_EQ(fake_cuda().calls("cuLibraryLoadData"), 2);
  const long loads[] = {call_of("cuLibraryLoadData", 1), call_of("cuLibraryLoadData", 2)};
  ASSERT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
  for (const long load : loads) {
    bwgemmHandle_t fresh = nullptr;
    ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    fake_cuda().fail_call(load, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(matmul(fresh, call), BWGEMM_STATUS_ALLOC_FAILED) << load;
    EXPECT_EQ(fake_cuda().launches(), 0);
    copied_call([&] { return matmul(fresh, call); });
    EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
  }
}

// ---- tuning -------------------------------------------------------------------------------------

TEST_F(CopiesResources, AreTimedByTuning) {
  const MatmulCall call = MatmulCall::copied();
  const auto all = static_cast<std::int32_t>(algos_of(handle(), call).size());
  // A copy takes as long as a product here: then in place is better, else as long as nothing.
  for (const bool is_slow : {true, false}) {
    fake_cuda().time_launches(
        is_slow ? [](const FakeLaunch&) { return 100.0; } : [](const FakeLaunch& launch) {
          return launch.is_copy() ? 0.0 : launch.params.a.data == nullptr ? 50.0 : 100.0;
        });
    std::int64_t algo = 0;
    const bwgemmAutotuneOptions_t options{sizeof options, all, 2, 0, 0};
    ASSERT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                   call.c, call.d, &options, &algo),
              BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
    bool copies = false;
    for (const bwgemmMatmulAlgo_t& listed : algos_of(handle(), call))
      if (listed.algo == algo) copies = listed.copiesOperands == 1;
    EXPECT_EQ(copies, !is_slow);
    fake_cuda().reset();
    ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(fake_cuda().launches(), is_slow ? 1 : 2) << "what was found is used";
  }
}

}  // namespace
}  // namespace bwgemm::test
