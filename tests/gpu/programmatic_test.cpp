// SPDX-License-Identifier: Apache-2.0
// Launches that may start during the tail of the one before: chains in which every call needs the
// result and the scratch memory of the last one give the same bits as without, captured or not.
#include <gtest/gtest.h>
#include <map>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

constexpr int chain = 6;

// C := A * B + C, with the sums exact.
std::vector<GemmCase> links() {
  const int smaller = small_scale() ? 2 : 1;
  std::vector<GemmCase> cases = {
      {.m = 256, .n = 264, .k = 520, .ld_multiple = 8},
      {.m = 4096, .n = 8, .k = 1024 / smaller, .ld_multiple = 8},  // few rows
      {.m = 136, .n = 72, .k = 4096 / smaller, .ld_multiple = 8},  // split along k
      {.m = 61,
       .n = 35,
       .k = small_scale() ? 1037 : 2077,
       .b_displacement = 1},  // element by element
      {.m = 3, .n = 500, .k = 301, .a_displacement = 1},
  };
  for (GemmCase& gemm : cases) {
    gemm.output = Dtype::f32;
    gemm.beta = 1;
    gemm.fill = Fill::integers;
    if (small_scale()) gemm.m = std::min<std::int64_t>(gemm.m, 512);
  }
  return cases;
}

class Programmatic : public HandleTest {
 protected:
  void run_chain(const GemmCase& gemm, Operands& operands) {
    for (int i = 0; i < chain; ++i) EXPECT_TRUE(succeeds(call(handle(), gemm, operands))) << gemm;
  }
  // What the chain leaves when nothing overlaps. Then the setting is as given.
  std::vector<std::byte> expected(const GemmCase& gemm, int setting) {
    EXPECT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(handle(), 0)));
    Operands operands(gemm);
    run_chain(gemm, operands);
    synchronize();
    EXPECT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(handle(), setting)));
    return operands.device_c().download().bytes();
  }
};

TEST_F(Programmatic, ChainsGiveTheSameBits) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& gemm : links())
    for (const int setting : {1, -1}) {
      const std::vector<std::byte> bits = expected(gemm, setting);
      Operands operands(gemm);
      run_chain(gemm, operands);
      synchronize();
      EXPECT_EQ(operands.device_c().download().bytes(), bits) << gemm << " setting " << setting;
    }
}

TEST_F(Programmatic, CapturedChainsGiveTheSameBits) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& gemm : links()) {
    const std::vector<std::byte> bits = expected(gemm, -1);
    Operands operands(gemm);
    check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED),
          "cuStreamBeginCapture");
    run_chain(gemm, operands);
    CUgraph captured = nullptr;
    check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
    const Graph graph(captured);
    for (int replay = 0; replay < 2; ++replay) {
      operands.device_c().upload();
      graph.launch(stream.get());
      stream.synchronize();
      EXPECT_EQ(operands.device_c().download().bytes(), bits) << gemm << " replay " << replay;
    }
  }
}

// Alpha and beta, which the roles of a kernel read for themselves, and A are what launches before
// have written.
TEST_F(Programmatic, ScalarsAndOperandsOfTheLaunchBefore) {
  const GemmCase scalar = {.k = 64, .output = Dtype::f32, .ld_multiple = 8, .fill = Fill::integers};
  for (const GemmCase& gemm : links()) {
    GemmCase first = gemm;
    first.output = first.input;
    GemmCase second = {.m = gemm.m, .n = gemm.n, .k = gemm.n, .ld_multiple = 8};
    second.fill = Fill::integers;
    Operands scalars(scalar), before(first), operands(second);
    std::map<int, std::vector<std::byte>> bits;
    for (const int overlaps : {0, 1, -1}) {
      ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(handle(), overlaps)));
      for (Operands* each : {&scalars, &before, &operands}) each->device_c().upload();
      EXPECT_TRUE(succeeds(call(handle(), scalar, scalars)));
      ASSERT_TRUE(succeeds(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE)));
      EXPECT_TRUE(
          succeeds(call(handle(), first, before, scalars.c_pointer(), scalars.c_pointer())));
      ASSERT_TRUE(succeeds(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_HOST)));
      const bwgemmDataType_t type = c_type(first.input);
      EXPECT_TRUE(succeeds(bwgemmGemmEx(handle(), BWGEMM_OP_N, BWGEMM_OP_N, second.m, second.n,
                                        second.k, &second.alpha, before.c_pointer(), type,
                                        before.c_before().ld(), operands.b_pointer(), type,
                                        operands.b().ld(), &second.beta, operands.c_pointer(), type,
                                        operands.c_before().ld(), BWGEMM_COMPUTE_32F, -1)));
      synchronize();
      bits[overlaps] = operands.device_c().download().bytes();
    }
    EXPECT_EQ(bits[1], bits[0]) << gemm;
    EXPECT_EQ(bits[-1], bits[0]) << gemm;
  }
}

}  // namespace
}  // namespace bwgemm::test
