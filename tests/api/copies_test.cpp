// SPDX-License-Identifier: Apache-2.0
// Calls that copy operands in front of the product, over the test double: what is launched, where
// the copies lie, and that a known plan moves with its operands and its workspace.
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/algo_list.h"
#include "support/copied_call.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

// Of the copies of A and B of these calls, in lines of 1088 elements.
constexpr std::size_t copied_bytes = 2 * 2 * 1024 * 1088;

class Copies : public FakeHandleTest {
 protected:
  CopiedCall copied(const MatmulCall& call) const {
    return copied_call([&] { return matmul(handle(), call); });
  }
  void expect_in_place(const MatmulCall& call) const {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_FALSE(only_launch().is_copy());
  }
};

TEST_F(Copies, AreMadeInFrontOfTheProduct) {
  const MatmulCall call = MatmulCall::copied();
  const CopiedCall made = copied(call);
  const auto& [copy, product] = made;
  EXPECT_STREQ(copy.kernel, "bwgemm_sm90_copy");
  EXPECT_EQ(copy.threads, 256u);
  EXPECT_EQ(copy.cluster, 1u);
  EXPECT_EQ(copy.grid, 132u * 4 < copy.copies.pieces ? 132u * 4 : copy.copies.pieces);
  EXPECT_EQ(copy.stream, product.stream);
  const OperandCopy &a = copy.copies.operands[0], &b = copy.copies.operands[1];
  EXPECT_EQ(a.from, call.b) << "D is column order in the call";
  EXPECT_EQ(b.from, call.a);
  EXPECT_EQ(a.from_ld, 2 * 1033);
  EXPECT_EQ(a.to_ld, 2 * 1088);
  EXPECT_EQ(static_cast<char*>(b.to), static_cast<char*>(a.to) + copied_bytes / 2);
  EXPECT_EQ(copy.copies.alpha, nullptr);
  EXPECT_THAT(made.loaded(), ElementsAre(a.to, b.to));
  EXPECT_EQ(product.params.k, 1033);
}

TEST_F(Copies, OfOneOperandLeaveTheOtherWhereItIs) {
  MatmulCall call = MatmulCall::copied();
  call.desc.ldb = 1040;
  call.desc.workspace = device_pointer(0x7f0060000000), call.desc.workspaceSize = copied_bytes;
  for (const std::uintptr_t b : {0x7f0010000000, 0x7f0014000000, 0x7f0010000000}) {
    call.b = device_pointer(b);
    const CopiedCall made = copied(call);
    EXPECT_EQ(made.copy.copies.operands[0].units, 0u);
    EXPECT_EQ(made.copy.copies.operands[1].from, call.a);
    EXPECT_THAT(made.loaded(), ElementsAre(call.b, call.desc.workspace));
  }
}

// The product may always begin before the copies are complete; the copies only if that was asked
// for.
TEST_F(Copies, TheProductOverlapsThem) {
  for (const int setting : {0, 1, 0}) {
    ASSERT_EQ(bwgemmSetProgrammaticLaunch(handle(), setting), BWGEMM_STATUS_SUCCESS);
    for (int i = 0; i < 2; ++i) {
      const auto [copy, product] = copied(MatmulCall::copied());
      EXPECT_EQ(copy.overlaps, setting == 1);
      EXPECT_TRUE(product.overlaps);
    }
    fake_cuda().reset();
    ASSERT_EQ(matmul(handle(), {}), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(only_launch().overlaps, setting == 1);
  }
}

TEST_F(Copies, ThenTheProductThenTheSums) {
  for (const auto of : {BWGEMM_BIAS_GRADIENT_A, BWGEMM_BIAS_GRADIENT_D_ROWS}) {
    MatmulCall call = MatmulCall::copied();
    call.desc.biasGradientOf = of;
    call.desc.biasGradient = device_pointer(0x7f0038000000);
    for (std::uintptr_t i = 0; i < 3; ++i) {
      fake_cuda().reset();
      ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      ASSERT_EQ(fake_cuda().launches(), 3);
      EXPECT_TRUE(fake_cuda().launch(0)->is_copy());
      EXPECT_FALSE(fake_cuda().launch(1)->is_copy() || fake_cuda().launch(1)->is_sums());
      ASSERT_TRUE(fake_cuda().launch(2)->is_sums());
      EXPECT_EQ(fake_cuda().launch(0)->copies.operands[1].from, call.a);
      EXPECT_EQ(fake_cuda().launch(2)->bias_gradient.matrix,
                of == BWGEMM_BIAS_GRADIENT_A ? call.a : call.d)
          << "the caller's matrix, not its copy";
      call.a = device_pointer(0x7f0100000000 + 4096 * i);
      call.d = device_pointer(0x7f0300000000 + 4096 * i);
    }
  }
}

TEST_F(Copies, MoveWithTheOperandsAndTheScalars) {
  ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  MatmulCall call = MatmulCall::copied();
  call.beta = nullptr;
  call.alpha = device_pointer(0x7f0050000000);
  const CopiedCall first = copied(call);
  for (std::uintptr_t i = 1; i < 4; ++i) {
    call.a = device_pointer(0x7f0100000000 + 4096 * i);
    call.b = device_pointer(0x7f0200000000 + 4096 * i);
    call.d = device_pointer(0x7f0300000000 + 4096 * i);
    call.alpha = device_pointer(0x7f0050000000 + 4 * i);
    const CopiedCall made = copied(call);
    const auto& [copy, product] = made;
    for (const char* entry : {"cuLibraryLoadData", "cuMemAlloc", "cuStreamCreate"})
      EXPECT_EQ(fake_cuda().calls(entry), 0) << entry;
    EXPECT_LE(fake_cuda().calls("cuTensorMapEncodeTiled"), 2) << "D's, and C's";
    CopiesParams expected = first.copy.copies;
    expected.operands[0].from = call.b, expected.operands[1].from = call.a;
    expected.alpha = static_cast<const float*>(call.alpha);
    EXPECT_EQ(std::memcmp(&copy.copies, &expected, sizeof expected), 0);
    EXPECT_EQ(product.params.alpha.device, call.alpha);
    EXPECT_EQ(made.loaded(), first.loaded());
    EXPECT_EQ(product.params.d_map.opaque[0], reinterpret_cast<std::uintptr_t>(call.d));
  }
}

// Of another alignment it is another call: what TMA can load is not copied.
TEST_F(Copies, FollowTheAlignmentOfTheOperands) {
  MatmulCall call = MatmulCall::copied();
  call.desc.k = call.desc.lda = call.desc.ldb = 1040;
  for (int i = 0; i < 2; ++i) {
    call.a = device_pointer(0x7f0100000000);
    expect_in_place(call);
    call.a = device_pointer(0x7f0100000002 + 4U * static_cast<unsigned>(i));
    EXPECT_EQ(copied(call).copy.copies.operands[1].from, call.a);
  }
}

TEST_F(Copies, OfEachStreamHaveTheirOwnPlace) {
  const Stream one, two;
  std::vector<char*> places;
  for (const Stream* stream : {&one, &two, &one, &two}) {
    ASSERT_EQ(bwgemmSetStream(handle(), stream->get()), BWGEMM_STATUS_SUCCESS);
    const CopiedCall made = copied(MatmulCall::copied());
    EXPECT_EQ(made.copy.stream, stream->get());
    EXPECT_EQ(made.product.stream, stream->get());
    places.push_back(static_cast<char*>(made.copy.copies.operands[0].to));
    EXPECT_THAT(made.loaded(), ElementsAre(places.back(), places.back() + copied_bytes / 2));
  }
  EXPECT_EQ(places[0], places[2]);
  EXPECT_EQ(places[1], places[3]);
  EXPECT_GE(std::abs(places[0] - places[1]), std::ptrdiff_t{copied_bytes});
  ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
}

TEST_F(Copies, LieInTheCallersWorkspace) {
  MatmulCall call = MatmulCall::copied();
  std::size_t size = 0;
  EXPECT_EQ(workspace_size(handle(), call, &size), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(size, copied_bytes);
  call.desc.workspaceSize = copied_bytes;
  for (const std::uintptr_t at : {0x7f0060000000, 0x7f0070000000, 0x7f0060000000}) {
    call.desc.workspace = device_pointer(at);
    const CopiedCall made = copied(call);
    EXPECT_EQ(made.copy.copies.operands[0].to, call.desc.workspace);
    EXPECT_THAT(made.loaded(),
                ElementsAre(call.desc.workspace, device_pointer(at + copied_bytes / 2)));
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
  }
  call.desc.workspaceSize = copied_bytes - 1;
  expect_in_place(call);
  call.desc.workspace = nullptr, call.desc.workspaceSize = 1;
  expect_in_place(call);

  // And in the handle's, which plain products take too.
  GemmArguments gemm = GemmArguments::copied();
  size = 0, gemm.workspace_size = &size;
  ASSERT_EQ(workspace_size(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(size, copied_bytes);
  const auto again = [&] { return gemm_ex(handle(), gemm); };
  ASSERT_EQ(bwgemmSetWorkspace(handle(), device_pointer(0x7f0080000000), size),
            BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(copied_call(again).copy.copies.operands[0].to, device_pointer(0x7f0080000000));
  for (const std::size_t less : {size - 1, std::size_t{0}}) {
    ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, less), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    ASSERT_EQ(again(), BWGEMM_STATUS_SUCCESS);
    EXPECT_FALSE(only_launch().is_copy());
  }
}

// One of two, which then has all of the workspace.
TEST_F(Copies, OfOneLieAtItsBeginning) {
  for (const bool of_a : {true, false}) {
    const Variable forced("BWGEMM_FORCE_OPERANDS", of_a ? "copied_a" : "copied_b");
    bwgemmHandle_t other = nullptr;
    ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
    MatmulCall call = MatmulCall::copied();
    call.desc.workspace = device_pointer(0x7f0060000000);
    call.desc.workspaceSize = copied_bytes / 2;
    for (const std::uintptr_t at : {0x7f0060000000, 0x7f0070000000}) {
      call.desc.workspace = device_pointer(at);
      const CopiedCall made = copied_call([&] { return matmul(other, call); });
      const auto& operands = made.copy.copies.operands;
      EXPECT_EQ(operands[of_a ? 1 : 0].units, 0u);
      EXPECT_EQ(operands[of_a ? 0 : 1].from, of_a ? call.b : call.a) << "D is in column order";
      EXPECT_EQ(operands[of_a ? 0 : 1].to, call.desc.workspace);
      EXPECT_STREQ(made.product.kernel,
                   copied_call([&] { return matmul(other, call); }).product.kernel);
    }
    EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
  }
}

TEST_F(Copies, KeepToTheTargetOfMultiprocessors) {
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), 20), BWGEMM_STATUS_SUCCESS);
  const auto [copy, product] = copied(MatmulCall::copied());
  EXPECT_EQ(copy.grid, 20u);
  EXPECT_LE(product.grid, 20u);
}

TEST_F(Copies, NoneWhereNothingIsMultiplied) {
  MatmulCall call = MatmulCall::copied();
  ASSERT_EQ(copied(call).copy.grid > 0, true);
  call.alpha = &MatmulCall::zero;
  expect_in_place(call);
  call.alpha = &MatmulCall::one, call.desc.k = 0;
  expect_in_place(call);
}

TEST_F(Copies, AreExplainedAndListed) {
  MatmulCall call = MatmulCall::copied();
  char text[32768];
  ASSERT_EQ(explain(handle(), call, text, sizeof text), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(text, HasSubstr("\ncopied     A and B first, " + std::to_string(copied_bytes) +
                              " bytes of workspace\n"));
  // In place, both operands, one of them.
  constexpr std::size_t least_workspace[] = {0, copied_bytes, copied_bytes / 2};
  int kinds[3] = {}, of_a = 0, of_b = 0;
  for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), call)) {
    ASSERT_TRUE(algo.copiesOperands >= 0 && algo.copiesOperands <= 2);
    if (++kinds[algo.copiesOperands] > 40) continue;
    call.desc.algo = algo.algo;
    fake_cuda().reset();
    ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    const int copies = algo.copiesOperands != 0 ? 1 : 0;
    ASSERT_EQ(fake_cuda().launches(), 1 + copies);
    EXPECT_EQ(fake_cuda().launch(0)->is_copy(), copies == 1);
    const FakeLaunch& product = *fake_cuda().launch(copies);
    EXPECT_STREQ(product.kernel, bwgemmKernelName(algo.kernel));
    EXPECT_GE(algo.workspaceSize, least_workspace[algo.copiesOperands]);
    if (algo.copiesOperands != 2) continue;
    const auto& copied = fake_cuda().launch(0)->copies.operands;
    EXPECT_NE(copied[0].units > 0, copied[1].units > 0);
    ++(copied[0].units > 0 ? of_a : of_b);
  }
  for (const int kind : kinds) EXPECT_GT(kind, 0);
  EXPECT_GT(of_a, 0);
  EXPECT_GT(of_b, 0);
}

}  // namespace
}  // namespace bwgemm::test
