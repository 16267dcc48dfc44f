// SPDX-License-Identifier: Apache-2.0
// The variables of the environment.
#include "dropin/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/variable.h"

namespace bwgemm::test {
namespace {

using dropin::asks_for_batch_invariance;
using dropin::Mode;
using dropin::Policy;
using dropin::read_settings;
using ::testing::HasSubstr;

TEST(DropinSettings, Modes) {
  for (const auto& [text, mode] :
       {std::pair("", Mode::serve), std::pair("serve", Mode::serve), std::pair("off", Mode::off),
        std::pair("log", Mode::log), std::pair("check", Mode::check)}) {
    const Variable variable("BWGEMM_CUBLAS", text);
    EXPECT_EQ(read_settings().mode, mode) << text;
  }
}

TEST(DropinSettings, Policies) {
  for (const auto& [text, policy] : {std::pair("", Policy::faster), std::pair("all", Policy::all),
                                     std::pair("faster", Policy::faster)}) {
    const Variable variable("BWGEMM_CUBLAS_POLICY", text);
    EXPECT_EQ(read_settings().policy, policy) << text;
  }
}

// A comparison is of every call, and so is what only bwgemm does.
TEST(DropinSettings, WhatMeansEveryCall) {
  {
    const Variable mode("BWGEMM_CUBLAS", "check");
    EXPECT_EQ(read_settings().policy, Policy::all);
    const Variable policy("BWGEMM_CUBLAS_POLICY", "faster");
    EXPECT_EQ(read_settings().policy, Policy::faster);
  }
  const Variable invariant("BWGEMM_CUBLAS_BATCH_INVARIANT", "1");
  EXPECT_EQ(read_settings().policy, Policy::all);
}

TEST(DropinSettings, WhatIsNotUnderstoodIsSaid) {
  const Variable mode("BWGEMM_CUBLAS", "on"), invariant("BWGEMM_CUBLAS_BATCH_INVARIANT", "yes");
  const Variable policy("BWGEMM_CUBLAS_POLICY", "fast");
  ::testing::internal::CaptureStderr();
  const dropin::Settings settings = read_settings();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(settings.mode, Mode::off);
  EXPECT_EQ(settings.policy, Policy::faster);
  EXPECT_TRUE(settings.batch_invariant);
  EXPECT_THAT(said, HasSubstr("BWGEMM_CUBLAS is on, not off, log, check or serve"));
  EXPECT_THAT(said, HasSubstr("BWGEMM_CUBLAS_POLICY is fast, not all or faster"));
  EXPECT_THAT(said, HasSubstr("BWGEMM_CUBLAS_BATCH_INVARIANT is yes, not 0 or 1"));
}

TEST(DropinSettings, SmallWorkspacesOfFrameworks) {
  for (const char* small : {":16:8", ":0:0", ":16:8:16:8", ":1023:1"})
    EXPECT_TRUE(asks_for_batch_invariance(small, nullptr)) << small;
  for (const char* large : {":4096:8", ":4096:2:16:8", ":1024:1", "", "16:8", ":16", ":16:", "x"})
    EXPECT_FALSE(asks_for_batch_invariance(large, nullptr)) << large;
  EXPECT_TRUE(asks_for_batch_invariance(nullptr, "1"));
  EXPECT_TRUE(asks_for_batch_invariance(":4096:8", "0"));
  for (const char* large : {"1024", "32768", "", "1x"})
    EXPECT_FALSE(asks_for_batch_invariance(nullptr, large)) << large;
  EXPECT_FALSE(asks_for_batch_invariance(nullptr, nullptr));
}

}  // namespace
}  // namespace bwgemm::test
