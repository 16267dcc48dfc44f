// SPDX-License-Identifier: Apache-2.0
// What the library says of statuses, of itself and of its kernels: without a driver.
#include <climits>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>

#include "bwgemm/bwgemm.h"
#include "families/variants.h"

namespace {

using ::testing::HasSubstr;

struct Known {
  bwgemmStatus_t status;
  const char* name;
};

constexpr Known known[] = {
    {BWGEMM_STATUS_SUCCESS, "BWGEMM_STATUS_SUCCESS"},
    {BWGEMM_STATUS_NOT_INITIALIZED, "BWGEMM_STATUS_NOT_INITIALIZED"},
    {BWGEMM_STATUS_ALLOC_FAILED, "BWGEMM_STATUS_ALLOC_FAILED"},
    {BWGEMM_STATUS_INVALID_VALUE, "BWGEMM_STATUS_INVALID_VALUE"},
    {BWGEMM_STATUS_ARCH_MISMATCH, "BWGEMM_STATUS_ARCH_MISMATCH"},
    {BWGEMM_STATUS_MAPPING_ERROR, "BWGEMM_STATUS_MAPPING_ERROR"},
    {BWGEMM_STATUS_EXECUTION_FAILED, "BWGEMM_STATUS_EXECUTION_FAILED"},
    {BWGEMM_STATUS_INTERNAL_ERROR, "BWGEMM_STATUS_INTERNAL_ERROR"},
    {BWGEMM_STATUS_NOT_SUPPORTED, "BWGEMM_STATUS_NOT_SUPPORTED"},
    {BWGEMM_STATUS_LICENSE_ERROR, "BWGEMM_STATUS_LICENSE_ERROR"},
    {BWGEMM_STATUS_NO_DRIVER, "BWGEMM_STATUS_NO_DRIVER"},
    {BWGEMM_STATUS_DRIVER_TOO_OLD, "BWGEMM_STATUS_DRIVER_TOO_OLD"},
    {BWGEMM_STATUS_NO_DEVICE, "BWGEMM_STATUS_NO_DEVICE"},
};

bool is_known(int value) {
  for (const Known& one : known)
    if (one.status == value) return true;
  return false;
}

TEST(Status, NamesAndSentences) {
  std::set<std::string> sentences;
  for (const Known& one : known) {
    EXPECT_STREQ(bwgemmStatusName(one.status), one.name);
    const std::string sentence = bwgemmStatusString(one.status);
    EXPECT_GT(sentence.size(), 10u) << one.name;
    EXPECT_NE(sentence, "unknown status") << one.name;
    sentences.insert(sentence);
  }
  EXPECT_GE(sentences.size(), std::size(known) - 1) << "only the reserved ones may read alike";
}

TEST(Status, UnknownValues) {
  for (const int value : {INT_MIN, -1, 2, 4, 5, 6, 9, 10, 12, 17, 99, 103, 1000, INT_MAX}) {
    ASSERT_FALSE(is_known(value));
    EXPECT_STREQ(bwgemmStatusName(static_cast<bwgemmStatus_t>(value)), "unknown status") << value;
    EXPECT_STREQ(bwgemmStatusString(static_cast<bwgemmStatus_t>(value)), "unknown status") << value;
  }
}

TEST(LastError, EmptyOnAThreadWithoutErrorsAndKeptBySuccess) {
  std::thread([] {
    EXPECT_STREQ(bwgemmGetLastErrorString(), "");
    EXPECT_EQ(bwgemmCreate(nullptr), BWGEMM_STATUS_INVALID_VALUE);
    const std::string text = bwgemmGetLastErrorString();
    EXPECT_THAT(text, HasSubstr("bwgemmCreate"));
    EXPECT_EQ(bwgemmDestroy(nullptr), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(bwgemmGetLastErrorString(), text);
    EXPECT_EQ(bwgemmSetStream(nullptr, nullptr), BWGEMM_STATUS_NOT_INITIALIZED);
    EXPECT_THAT(bwgemmGetLastErrorString(), HasSubstr("bwgemmSetStream"));
  }).join();
}

TEST(Version, IsTheHeaders) {
  EXPECT_EQ(bwgemmGetVersion(), BWGEMM_VERSION);
  EXPECT_EQ(BWGEMM_VERSION,
            BWGEMM_VERSION_MAJOR * 10000 + BWGEMM_VERSION_MINOR * 100 + BWGEMM_VERSION_PATCH);
}

TEST(BuildInfo, IsOneLineThatSaysWhatItMust) {
  const std::string info = bwgemmGetBuildInfo();
  EXPECT_EQ(info.find('\n'), std::string::npos);
  EXPECT_THAT(info, HasSubstr(std::to_string(BWGEMM_VERSION_MAJOR) + "." +
                              std::to_string(BWGEMM_VERSION_MINOR) + "." +
                              std::to_string(BWGEMM_VERSION_PATCH)));
  EXPECT_THAT(info, HasSubstr("90a"));
  EXPECT_THAT(info, HasSubstr("100"));
  EXPECT_EQ(bwgemmGetBuildInfo(), bwgemmGetBuildInfo()) << "static storage";
}

TEST(Kernels, AreTheRowsOfTheTable) {
  ASSERT_EQ(bwgemmKernelCount(), static_cast<int>(bwgemm::kernel_variants.size()));
  std::set<std::string> names;
  for (int i = 0; i < bwgemmKernelCount(); ++i) {
    const char* name = bwgemmKernelName(i);
    ASSERT_NE(name, nullptr) << i;
    EXPECT_EQ(name,
              bwgemm::kernel_name(bwgemm::kernel_variants[static_cast<std::size_t>(i)]).view());
    EXPECT_EQ(name, bwgemmKernelName(i)) << "static storage";
    names.insert(name);
  }
  EXPECT_EQ(names.size(), bwgemm::kernel_variants.size());
}

TEST(Kernels, OutOfRangeIsNull) {
  for (const int index : {-1, INT_MIN, INT_MAX, bwgemmKernelCount(), bwgemmKernelCount() + 1})
    EXPECT_EQ(bwgemmKernelName(index), nullptr) << index;
}

}  // namespace
