// SPDX-License-Identifier: Apache-2.0
// A handle over the test double in BWGEMM_TUNE_ON, and launches that take the time that a test
// says.
#pragma once

#include <array>
#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/algo_list.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {

// This kernel is the fastest. So slow that the budget ends before the double has cleared much.
inline const char* quick_kernel = "";
inline double quick_is_quick(const FakeLaunch& launch) {
  return std::strcmp(launch.kernel, quick_kernel) == 0 ? 2000 : 3000;
}

class TuneTest : public FakeHandleTest {
 protected:
  void SetUp() override {
    FakeHandleTest::SetUp();
    std::string name = (std::filesystem::temp_directory_path() / "bwgemm_tune_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_mode(BWGEMM_TUNE_ON);
    quick_kernel = "";
    reset();
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    FakeHandleTest::TearDown();
  }
  std::string path() const { return folder_ / "cache"; }

  static void reset() {
    fake_cuda().reset();
    fake_cuda().time_launches(quick_is_quick);
  }
  void set_mode(bwgemmTuneMode_t mode) const {
    ASSERT_EQ(bwgemmSetTuneMode(handle(), mode), BWGEMM_STATUS_SUCCESS);
  }

  // A kernel of the first algos that is not that of the best prediction.
  static const char* other_than_predicted(bwgemmHandle_t handle, const MatmulCall& call) {
    const std::vector<bwgemmMatmulAlgo_t> algos = algos_of(handle, call);
    for (std::size_t i = 1; i < 6 && i < algos.size(); ++i)
      if (algos[i].kernel != algos[0].kernel) return bwgemmKernelName(algos[i].kernel);
    ADD_FAILURE() << "the first algos are of one kernel";
    return "";
  }

  static bool has_measured() { return fake_cuda().calls("cuEventElapsedTime") > 0; }
  static std::string last_kernel() {
    const FakeLaunch* last = fake_cuda().launch(fake_cuda().launches() - 1);
    return last != nullptr ? last->kernel : "";
  }
  // The call succeeds and launches this last; whether it measured.
  static bool measures(bwgemmHandle_t handle, const MatmulCall& call, std::string* kernel = {}) {
    reset();
    EXPECT_EQ(matmul(handle, call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    if (kernel != nullptr) *kernel = last_kernel();
    return has_measured();
  }
  bool measures(const MatmulCall& call, std::string* kernel = {}) const {
    return measures(handle(), call, kernel);
  }

  // Whether the address is anywhere in what the launch was given.
  static bool is_given(const FakeLaunch& launch, const void* address) {
    const auto holds = [&](const auto& params) {
      std::array<std::uintptr_t, sizeof params / sizeof(std::uintptr_t)> words{};
      std::memcpy(words.data(), &params, sizeof words);
      return std::find(words.begin(), words.end(), reinterpret_cast<std::uintptr_t>(address)) !=
             words.end();
    };
    return holds(launch.params) || holds(launch.bias_gradient) || holds(launch.copies);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace bwgemm::test
