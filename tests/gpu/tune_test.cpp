// SPDX-License-Identifier: Apache-2.0
// A call that measures first leaves behind what one that does not leaves: D, aux, what lies around
// them, and C that is D, to which the product is added once. Its result is that of a later call.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/matmul_case.h"

namespace bwgemm::test {
namespace {

namespace fs = std::filesystem;

std::vector<MatmulCase> tuned_cases() {
  std::vector<MatmulCase> all;
  const auto add = [&]() -> MatmulCase& {
    MatmulCase& matmul = all.emplace_back();
    GemmCase& gemm = matmul.gemm;
    gemm.transa = BWGEMM_OP_T;
    gemm.m = 72, gemm.n = 40, gemm.k = 96;
    gemm.ld_multiple = 8;
    gemm.alpha = 0x1p-4f;
    gemm.fill = Fill::integers;
    gemm.seed = all.size();
    return matmul;
  };
  add();
  MatmulCase& added = add();
  added.gemm.output = Dtype::f32;
  added.gemm.beta = 1;
  added.gemm.k = 512;
  MatmulCase& odd = add();
  odd.gemm.m = 35, odd.gemm.k = 99;
  odd.gemm.ld_multiple = 1;
  odd.gemm.a_displacement = 1, odd.gemm.c_displacement = 3;
  odd.gemm.batch = 2;
  odd.gemm.beta = -0.5f;
  MatmulCase& arrays = add();
  arrays.gemm.batch = 3;
  arrays.gemm.k = 1024;  // to be split: else there is one algo only
  arrays.gemm.beta = 2;
  arrays.fusing.pointer_array = true;
  MatmulCase& stored = add();
  stored.gemm.beta = -0.5f;
  stored.gemm.k = 1024;
  stored.fusing.row_scale = true;
  stored.fusing.activation = BWGEMM_ACTIVATION_RELU;
  stored.fusing.aux = BWGEMM_AUX_STORE;
  stored.fusing.aux_displacement = 1, stored.fusing.aux_extra = 3;
  MatmulCase& read = add();
  read.fusing.activation = BWGEMM_ACTIVATION_RELU;
  read.fusing.aux = BWGEMM_AUX_DERIVATIVE;
  MatmulCase& gated = add();
  gated.gemm.m = 144;
  gated.gemm.batch = 2;
  gated.fusing.gate = BWGEMM_GATE_INTERLEAVED;
  gated.fusing.activation = BWGEMM_ACTIVATION_SILU;
  MatmulCase& apart = add();
  apart.gemm.beta = 1;
  apart.fusing.c_apart = true;
  apart.fusing.bias = Bias::along_m;
  return all;
}

class FirstCalls : public HandleTest {
 protected:
  void SetUp() override {
    HandleTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string name = (fs::temp_directory_path() / "bwgemm_tune_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_TRUE(succeeds(bwgemmSetTuningCache(handle(), (folder_ / "cache").c_str())));
    ASSERT_TRUE(succeeds(bwgemmSetTuneMode(handle(), BWGEMM_TUNE_ON)));
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
    HandleTest::TearDown();
  }

  // As many as kinds that were measured.
  long lines_of_cache() const {
    std::ifstream file(folder_ / "cache");
    long lines = -1;  // the first says what the file is
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

 private:
  fs::path folder_;
};

TEST_F(FirstCalls, LeaveBehindWhatLaterOnesDo) {
  const Stream stream;
  long kinds = 0;
  for (const MatmulCase& matmul : tuned_cases()) {
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), kinds % 2 == 0 ? nullptr : stream.get())));
    MatmulOperands operands(matmul);
    synchronize();
    ASSERT_TRUE(succeeds(operands.call(handle()))) << matmul;
    operands.expect_result();
    EXPECT_EQ(lines_of_cache(), ++kinds) << matmul;
    const std::vector<std::byte> first = operands.bytes_of_d();
    operands.restore();
    ASSERT_TRUE(succeeds(operands.call(handle()))) << matmul;
    operands.expect_result();
    EXPECT_EQ(operands.bytes_of_d(), first) << matmul;
    EXPECT_EQ(lines_of_cache(), kinds) << matmul;
  }
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), nullptr)));
}

TEST_F(FirstCalls, MeasureBesideACaptureAndNotInsideOne) {
  const MatmulCase matmul = tuned_cases().front();
  const Stream captured, used;
  MatmulOperands operands(matmul);
  synchronize();
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), captured.get())));
  check(driver().stream_begin_capture(captured.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  ASSERT_TRUE(succeeds(operands.call(handle())));
  EXPECT_EQ(lines_of_cache(), -1) << "inside";
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), used.get())));
  ASSERT_TRUE(succeeds(operands.call(handle())));
  EXPECT_EQ(lines_of_cache(), 1) << "beside";
  CUgraph graph = nullptr;
  check(driver().stream_end_capture(captured.get(), &graph), "cuStreamEndCapture");
  const Graph whole(graph);
  operands.expect_result();
  operands.restore();
  synchronize();
  whole.launch(captured.get());
  operands.expect_result();
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), nullptr)));
}

}  // namespace
}  // namespace bwgemm::test
