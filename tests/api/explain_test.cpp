// SPDX-License-Identifier: Apache-2.0
// bwgemmExplain: with a null handle it needs no driver; every kernel appears; buffers of any size.
#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "support/fake_gemm.h"
#include "support/subprocess.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

using ::testing::HasSubstr;

std::string explained(bwgemmHandle_t handle, GemmArguments gemm) {
  std::vector<char> text(1 << 16, 'x');
  gemm.text = text.data(), gemm.text_size = text.size();
  EXPECT_EQ(explain(handle, gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_NE(std::find(text.begin(), text.end(), '\0'), text.end()) << "not terminated";
  text.back() = '\0';
  return text.data();
}

// The kernel of the line that says what would be launched, first of the report.
std::string chosen(const std::string& report) {
  const std::size_t line = report.find("\nkernel ");
  if (line == std::string::npos) return "";
  const std::size_t begin = report.find("bwgemm_", line), end = report.find_first_of(" \n", begin);
  return report.substr(begin, end - begin);
}

TEST(ExplainWithoutHandle, NamesEveryKernelOfBothArchitectures) {
  for (const GemmArguments& gemm :
       {GemmArguments{}, GemmArguments::split(), GemmArguments::unaligned()}) {
    const std::string report = explained(nullptr, gemm);
    for (int i = 0; i < bwgemmKernelCount(); ++i)
      EXPECT_THAT(report, HasSubstr(bwgemmKernelName(i)));
    EXPECT_THAT(report, HasSubstr("H200"));
    EXPECT_THAT(report, HasSubstr("B200"));
  }
}

TEST(ExplainWithoutHandle, NeedsNoDriver) {
  const ProcessResult result = run_self("ExplainWithoutHandle.NamesEveryKernelOfBothArchitectures",
                                        {{"BWGEMM_LIBCUDA", "/nonexistent/libcuda.so"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

// One wave of whole tiles, and splits for those that would not fill another.
TEST(ExplainWithoutHandle, SaysWhichTilesAreSplit) {
  const Variable kernel("BWGEMM_FORCE_KERNEL", "bwgemm_sm90_b16_kk_128x128x64_s6_coop");
  const Variable splits("BWGEMM_FORCE_SPLITS", "4");
  GemmArguments gemm;
  gemm.m = gemm.n = gemm.ldc = 12 * 128;
  gemm.k = gemm.lda = gemm.ldb = 4096;
  gemm.batch_count = 1;
  EXPECT_THAT(explained(nullptr, gemm), HasSubstr("splits 4 of the last 12 of 144 tiles"));
  gemm.m = 6 * 128;
  EXPECT_THAT(explained(nullptr, gemm), HasSubstr("splits 1, "));
  gemm.m = 128;
  EXPECT_THAT(explained(nullptr, gemm), HasSubstr("splits 4, "));
}

TEST(ExplainWithoutHandle, ChecksItsArguments) {
  char text[64] = "untouched";
  GemmArguments gemm;
  gemm.text = text, gemm.text_size = sizeof text;
  gemm.lda = 3;
  EXPECT_EQ(explain(nullptr, gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("lda"));
  EXPECT_STREQ(text, "untouched");
}

TEST(ExplainWithoutHandle, AnyBufferSize) {
  const std::string whole = explained(nullptr, {});
  ASSERT_GT(whole.size(), 100u);
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{17}, whole.size(),
                                 whole.size() + 1, whole.size() + 2}) {
    std::vector<char> text(size + 8, '#');
    GemmArguments gemm;
    gemm.text = text.data(), gemm.text_size = size;
    EXPECT_EQ(explain(nullptr, gemm), BWGEMM_STATUS_SUCCESS) << size;
    EXPECT_EQ(std::string(text.data()), whole.substr(0, size - 1)) << size;
    EXPECT_EQ(std::string(text.data() + size, 8), "########")
        << "written behind the end, size " << size;
  }
}

TEST(ExplainWithoutHandle, NoRoomAtAll) {
  char text[] = "untouched";
  GemmArguments gemm;
  gemm.text = text, gemm.text_size = 0;
  EXPECT_EQ(explain(nullptr, gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("size"));
  EXPECT_STREQ(text, "untouched");
  gemm.text = nullptr, gemm.text_size = 64;
  EXPECT_EQ(explain(nullptr, gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("text"));
}

TEST(ExplainWithoutHandle, AnEmptyResult) {
  GemmArguments gemm;
  gemm.m = 0;
  EXPECT_FALSE(explained(nullptr, gemm).empty());
}

using Explain = FakeHandleTest;

// What it says is what a call does.
TEST_F(Explain, NamesTheKernelThatIsThenLaunched) {
  for (const GemmArguments& gemm :
       {GemmArguments{}, GemmArguments::split(), GemmArguments::unaligned()}) {
    const std::string report = explained(handle(), gemm);
    EXPECT_EQ(fake_cuda().launches(), 0) << "explaining launches nothing";
    EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(chosen(report), only_launch().kernel) << report;
    EXPECT_THAT(report, HasSubstr("grid " + std::to_string(only_launch().grid))) << report;
    EXPECT_THAT(report, HasSubstr("splits " + std::to_string(only_launch().params.splits > 0
                                                                 ? only_launch().params.splits
                                                                 : 1)));
    fake_cuda().reset();
  }
}

// Fewer clusters of four fit than the device has SMs for; the double says how many.
TEST_F(Explain, CountsClustersAsTheLaunchDoes) {
  int cc_major = 0;
  check(driver().device_get_attribute(&cc_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
        "attribute");
  const Variable kernel("BWGEMM_FORCE_KERNEL", cc_major == 9
                                                   ? "bwgemm_sm90_b16_kk_64x64x64_2x2_s13_coop"
                                                   : "bwgemm_sm100_b16_256xNx64_4x1_pair");
  bwgemmHandle_t forced = nullptr;
  ASSERT_EQ(bwgemmCreate(&forced), BWGEMM_STATUS_SUCCESS);
  GemmArguments gemm;
  gemm.m = gemm.n = gemm.ldc = 8192;
  gemm.batch_count = 1;
  const std::string report = explained(forced, gemm);
  ASSERT_EQ(gemm_ex(forced, gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  const unsigned clusters = cc_major == 9 ? 29 : 33;  // of groups of 18 SMs
  EXPECT_EQ(only_launch().grid, 4 * clusters);
  EXPECT_THAT(report, HasSubstr("grid " + std::to_string(4 * clusters) + ","));
  EXPECT_EQ(bwgemmDestroy(forced), BWGEMM_STATUS_SUCCESS);
}

TEST_F(Explain, CountsClustersOnBlackwellToo) {
  const ProcessResult result =
      run_self("Explain.CountsClustersAsTheLaunchDoes", {{"FAKE_CUDA_DEVICE", "b200"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

TEST_F(Explain, SaysWhyTheOthersLost) {
  const std::string report = explained(handle(), GemmArguments::unaligned());
  EXPECT_THAT(report, HasSubstr("multiple of 16 bytes"));
  for (int i = 0; i < bwgemmKernelCount(); ++i) EXPECT_THAT(report, HasSubstr(bwgemmKernelName(i)));
}

TEST_F(Explain, FollowsTheHandlesSettings) {
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(explained(handle(), GemmArguments::split()), HasSubstr("splits 1"));
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), 16), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(explained(handle(), {}), HasSubstr("16 of 132"));
}

// Nobody says that four multiprocessors of a green context are neighbours, but of two.
TEST_F(Explain, LargeClustersAreForWholeDevices) {
  const char* device = std::getenv("FAKE_CUDA_DEVICE");
  const bool is_part = device != nullptr && std::string_view(device) == "h200_part";
  const std::string report = explained(handle(), {});
  const auto says_no_room = [&](const std::string& kernel) {
    return report.find(kernel + ": its cluster may find no room") != std::string::npos;
  };
  EXPECT_EQ(says_no_room("bwgemm_sm90_b16_kk_64x64x64_2x2_s13_coop"), is_part) << report;
  EXPECT_EQ(says_no_room("bwgemm_sm90_b16_kk_128x160x64_4x2_s5_t_coop"), is_part);
  EXPECT_FALSE(says_no_room("bwgemm_sm90_b16_kk_128x256x64_2x1_s4_coop"));
  EXPECT_EQ(gemm_ex(handle(), {}), BWGEMM_STATUS_SUCCESS);
}

TEST(ExplainInPartOfADevice, RejectsLargeClusters) {
  const ProcessResult result =
      run_self("Explain.LargeClustersAreForWholeDevices", {{"FAKE_CUDA_DEVICE", "h200_part"}});
  EXPECT_TRUE(result.passed()) << result.output;
}

}  // namespace
}  // namespace bwgemm::test
