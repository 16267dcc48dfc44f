// SPDX-License-Identifier: Apache-2.0
// Calls whose copies of an operand do not fit the workspace, over the test double: several products
// of some rows or columns each, one after the other, each behind its copy. Each part must be
// launched as the call of these rows or columns would be.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "api/divided_call.h"
#include "support/copied_call.h"
#include "support/fake_gemm.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

using ::testing::Contains, ::testing::HasSubstr, ::testing::Not;

class Divided : public FakeHandleTest {
 protected:
  MatmulCall divided(Loose loose) const {
    return with_copying_algo(handle(), DividedCall::of(loose));
  }

  // The launches of the parts, called one after the other; `of_m`: they have rows of the product.
  std::vector<FakeLaunch> launches_of_parts(const MatmulCall& call, bool of_m) const {
    std::vector<FakeLaunch> all;
    const std::int64_t extent = of_m ? call.desc.m : call.desc.n;
    for (std::int64_t from = 0; from < extent; from += DividedCall::lines) {
      const std::int64_t count = std::min(DividedCall::lines, extent - from);
      for (const FakeLaunch& launch : launches_of(handle(), part_of(call, of_m, from, count)))
        all.push_back(launch);
    }
    return all;
  }

  // Of every algo that copies one operand of the call, forced.
  void expect_parts_of_every_algo(MatmulCall call) const {
    const auto algos = algos_of(handle(), call);
    int of_rows = 0, of_columns = 0;
    for (const bwgemmMatmulAlgo_t& algo : algos) {
      if (algo.copiesOperands == 0) continue;
      SCOPED_TRACE(std::string(bwgemmKernelName(algo.kernel)) + ", operands " +
                   std::to_string(algo.copiesOperands));
      EXPECT_EQ(algo.splits, 1);
      EXPECT_LE(algo.workspaceSize, call.desc.workspaceSize);
      call.desc.algo = algo.algo;
      // Whether a kernel starts early depends on the one ahead: for both, this call.
      static_cast<void>(launches_of(handle(), call));
      const std::vector<FakeLaunch> launches = launches_of(handle(), call);
      if (HasFailure()) return;
      ASSERT_GT(launches.size(), 2u);
      const auto& copied = launches[0].copies.operands;
      const bool of_m = copied[0].units > 0 ? copied[0].from == call.a : copied[1].from == call.a;
      expect_equal(launches, launches_of_parts(call, of_m));
      if (HasFailure()) return;
      ++(of_m ? of_rows : of_columns);
    }
    const bool a_is_loose = call.desc.lda % 8 != 0, b_is_loose = call.desc.ldb % 8 != 0;
    EXPECT_EQ(of_rows > 0, a_is_loose);
    EXPECT_EQ(of_columns > 0, b_is_loose);
  }
};

// ---- parts --------------------------------------------------------------------------------------

TEST_F(Divided, ACopyThenItsProductThenTheNextCopy) {
  for (const Loose loose : {Loose::a, Loose::b, Loose::both}) {
    const MatmulCall call = divided(loose);
    const std::vector<FakeLaunch> launches = launches_of(handle(), call);
    ASSERT_EQ(launches.size(), 2u * DividedCall::parts);
    const bool of_m = launches[0].copies.operands[1].units > 0;  // the product's B, in row order
    for (std::size_t part = 0; part < DividedCall::parts; ++part) {
      const FakeLaunch &copy = launches[2 * part], &product = launches[2 * part + 1];
      EXPECT_TRUE(copy.is_copy());
      EXPECT_FALSE(product.is_copy());
      EXPECT_TRUE(product.overlaps) << "its copy";
      const OperandCopy& operand = copy.copies.operands[of_m ? 1 : 0];
      EXPECT_EQ(copy.copies.operands[of_m ? 0 : 1].units, 0u) << "one alone is copied";
      EXPECT_EQ(operand.to, call.desc.workspace);
      const std::uintptr_t line_bytes =
          2U * static_cast<std::uintptr_t>(of_m ? call.desc.lda : call.desc.ldb);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operand.from),
                reinterpret_cast<std::uintptr_t>(of_m ? call.a : call.b) +
                    part * DividedCall::lines * line_bytes);
      const std::int64_t lines = part + 1 < DividedCall::parts ? DividedCall::lines : 280;
      EXPECT_EQ(operand.lines, lines);
      EXPECT_EQ(product.params.m * product.params.n, lines * DividedCall::extent);
      EXPECT_STREQ(product.kernel, launches[1].kernel);
    }
  }
}

TEST_F(Divided, EachPartIsTheCallOfItsRowsOrColumns) {
  for (const Loose loose : {Loose::a, Loose::b, Loose::both})
    for (const bwgemmOperation_t transa : {BWGEMM_OP_N, BWGEMM_OP_T})
      for (const bwgemmOperation_t transb : {BWGEMM_OP_N, BWGEMM_OP_T})
        expect_parts_of_every_algo(DividedCall::of(loose, transa, transb));
}

// With all that lies along rows, columns and both.
TEST_F(Divided, SoIsWhatIsFusedToThem) {
  for (const Loose loose : {Loose::a, Loose::b, Loose::both})
    for (int i = 0; i < 8; ++i) {
      SCOPED_TRACE(i);
      MatmulCall call = DividedCall::of(loose);
      bwgemmMatmulDesc_t& desc = call.desc;
      const bool in_rows = (i & 1) != 0, is_f32 = (i & 2) != 0;
      desc.bias = made_up(0x7f0028000000);
      desc.biasDim = (i & 4) != 0 ? BWGEMM_DIM_M : BWGEMM_DIM_N;
      desc.biasType = is_f32 ? BWGEMM_R_32F : BWGEMM_R_16BF;
      desc.rowScale = static_cast<float*>(made_up(0x7f0030000000));
      desc.columnScale = static_cast<float*>(made_up(0x7f0038000000));
      desc.activation = BWGEMM_ACTIVATION_GELU_TANH;
      desc.auxMode = is_f32 ? BWGEMM_AUX_DERIVATIVE : BWGEMM_AUX_STORE;
      desc.auxType = is_f32 ? BWGEMM_R_16BF : BWGEMM_R_32F;
      desc.aux = made_up(0x7f0040000000), desc.ldaux = DividedCall::extent + 8;
      desc.Dtype = desc.Ctype = is_f32 ? BWGEMM_R_32F : BWGEMM_R_16BF;
      desc.Dorder = desc.Corder = in_rows ? BWGEMM_ORDER_ROW : BWGEMM_ORDER_COL;
      desc.ldd = DividedCall::extent + 16, desc.ldc = DividedCall::extent + 24;
      call.beta = &MatmulCall::one;
      expect_parts_of_every_algo(call);
    }
}

TEST_F(Divided, InRowsAndWithCThatIsD) {
  for (const Loose loose : {Loose::a, Loose::b, Loose::both}) {
    MatmulCall call = DividedCall::of(loose, BWGEMM_OP_N, BWGEMM_OP_T);
    bwgemmMatmulDesc_t& desc = call.desc;
    desc.Aorder = desc.Border = desc.Dorder = desc.Corder = BWGEMM_ORDER_ROW;
    desc.lda = desc.ldb = 1040;
    if (loose != Loose::b) ++desc.lda;
    if (loose != Loose::a) ++desc.ldb;
    call.beta = &MatmulCall::one, call.c = call.d;
    expect_parts_of_every_algo(call);
  }
}

// Whatever remains for the last part: an algo that is listed serves all of them.
TEST_F(Divided, TheLastPartMayHaveAnyLength) {
  for (const auto& [m, n] : {std::pair{1301, 1301},
                             {1301, 1304},
                             {1304, 1301},
                             {1025, 1032},
                             {1032, 1026},
                             {516, 8},
                             {8, 516},
                             {520, 8},
                             {8, 520},
                             {517, 3}})
    for (const Loose loose : {Loose::a, Loose::b, Loose::both})
      for (const bool has_c : {false, true}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + (has_c ? " with C" : ""));
        MatmulCall call = DividedCall::of(loose, BWGEMM_OP_T, BWGEMM_OP_N, m, n);
        if (has_c) call.beta = &MatmulCall::one;
        for (const bwgemmMatmulAlgo_t& algo : algos_of(handle(), call)) {
          if (algo.copiesOperands == 0) continue;
          call.desc.algo = algo.algo;
          ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS)
              << bwgemmKernelName(algo.kernel) << ": " << bwgemmGetLastErrorString();
        }
      }
}

TEST_F(Divided, OnBlackwellToo) {
  for (const char* test :
       {"Divided.EachPartIsTheCallOfItsRowsOrColumns", "Divided.SoIsWhatIsFusedToThem",
        "Divided.TheLastPartMayHaveAnyLength"}) {
    const ProcessResult result = run_self(test, {{"FAKE_CUDA_DEVICE", "b200"}});
    EXPECT_TRUE(result.passed()) << result.output;
  }
}

// ---- known plans --------------------------------------------------------------------------------

TEST_F(Divided, EqualCallsTakeThePlansOfAllParts) {
  for (const Loose loose : {Loose::a, Loose::b, Loose::both}) {
    const MatmulCall call = divided(loose);
    const std::vector<FakeLaunch> first = launches_of(handle(), call);
    for (int i = 0; i < 3; ++i) {
      expect_equal(launches_of(handle(), call), first);
      for (const char* entry : {"cuTensorMapEncodeTiled", "cuMemAlloc", "cuLibraryLoadData"})
        EXPECT_EQ(fake_cuda().calls(entry), 0) << entry;
    }
  }
}

// All kernels may start early: else the first one does so or not by what the handle called before.
TEST_F(Divided, AllPartsMoveWithTheCall) {
  ASSERT_EQ(bwgemmSetProgrammaticLaunch(handle(), 1), BWGEMM_STATUS_SUCCESS);
  for (const bool has_c : {false, true})
    for (const bool on_device : {false, true})
      for (const Loose loose : {Loose::a, Loose::b, Loose::both}) {
        ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_HOST), BWGEMM_STATUS_SUCCESS);
        MatmulCall call = divided(loose);
        ASSERT_EQ(bwgemmSetPointerMode(
                      handle(), on_device ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST),
                  BWGEMM_STATUS_SUCCESS);
        if (on_device) call.alpha = made_up(0x7f0050000000), call.beta = nullptr;
        if (has_c && !on_device) call.beta = &MatmulCall::one;
        call.c = call.d;
        launches_of(handle(), call);
        for (std::uintptr_t i = 1; i < 5; ++i) {
          call.a = made_up(0x7f0100000000 + 4096 * i);
          if (i != 2) call.b = made_up(0x7f0200000000 + 4096 * i);
          call.c = call.d = made_up(0x7f0300000000 + 4096 * i);
          if (on_device) call.alpha = made_up(0x7f0050000000 + 4 * i);
          if (i > 2) call.desc.workspace = made_up(0x7f0060000000 + 4096 * i);
          const std::vector<FakeLaunch> seen = launches_of(handle(), call);
          for (const char* entry : {"cuMemAlloc", "cuLibraryLoadData"})
            EXPECT_EQ(fake_cuda().calls(entry), 0) << entry;
          const auto moved_maps = fake_cuda().calls("cuTensorMapEncodeTiled");
          bwgemmHandle_t other = nullptr;
          ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
          if (on_device) bwgemmSetPointerMode(other, BWGEMM_POINTER_MODE_DEVICE);
          ASSERT_EQ(bwgemmSetProgrammaticLaunch(other, 1), BWGEMM_STATUS_SUCCESS);
          expect_equal(seen, launches_of(other, call));
          EXPECT_LE(moved_maps, fake_cuda().calls("cuTensorMapEncodeTiled"));  // which makes all
          EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
        }
      }
}

// What no plan moves with is planned again, for all parts.
TEST_F(Divided, PartsFollowWhatIsFused) {
  for (const Loose loose : {Loose::a, Loose::b}) {
    MatmulCall call = DividedCall::of(loose);
    call.beta = &MatmulCall::one;
    call.desc.bias = made_up(0x7f0028000000);
    call.desc.rowScale = static_cast<float*>(made_up(0x7f0030000000));
    call = with_copying_algo(handle(), call);
    launches_of(handle(), call);
    for (std::uintptr_t i = 1; i < 4; ++i) {
      if (i != 2) call.c = made_up(0x7f0400000000 + 4096 * i);
      if (i != 3) call.desc.bias = made_up(0x7f0500000000 + 4096 * i);
      call.desc.rowScale = static_cast<float*>(made_up(0x7f0600000000 + 4096 * i));
      call.a = made_up(0x7f0100000000 + 4096 * i);
      for (int again = 0; again < 2; ++again)
        expect_equal(launches_of(handle(), call), launches_of_new_handle(call));
    }
  }
}

// Other calls take the places of some parts' plans: sometimes of the first, sometimes of others.
TEST_F(Divided, PartsThatWereForgottenArePlannedAgain) {
  constexpr int rounds = 20, others = 200;  // of 256 that are remembered
  const MatmulCall call = divided(Loose::b);
  const std::vector<FakeLaunch> expected = launches_of(handle(), call);
  MatmulCall other;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 1; i <= others; ++i) {
      other.desc.k = other.desc.lda = other.desc.ldb = 8 * (round * others + i);
      ASSERT_EQ(matmul(handle(), other), BWGEMM_STATUS_SUCCESS);
    }
    expect_equal(launches_of(handle(), call), expected);
  }
}

TEST_F(Divided, DivisionFollowsTheWorkspace) {
  MatmulCall call = divided(Loose::b);
  for (int round = 0; round < 2; ++round)
    for (const std::int64_t lines : {512, 256, 768, 1304}) {
      call.desc.workspaceSize = static_cast<std::uint64_t>(2 * 1088 * lines);
      const auto parts = static_cast<std::size_t>((DividedCall::extent + lines - 1) / lines);
      const std::vector<FakeLaunch> launches = launches_of(handle(), call);
      ASSERT_EQ(launches.size(), 2 * parts);
      EXPECT_EQ(launches[0].copies.operands[0].lines, lines);
    }
}

// ---- the library's workspace --------------------------------------------------------------------

TEST_F(Divided, InTheLibrarysWorkspaceOfEachStream) {
  MatmulCall call = DividedCall::of(Loose::b);
  call.desc.workspace = nullptr;
  call = with_copying_algo(handle(), call);
  const Stream one, two;
  std::vector<void*> places;
  for (const Stream* stream : {&one, &two, &one, &two}) {
    ASSERT_EQ(bwgemmSetStream(handle(), stream->get()), BWGEMM_STATUS_SUCCESS);
    const std::vector<FakeLaunch> launches = launches_of(handle(), call);
    ASSERT_EQ(launches.size(), 2u * DividedCall::parts);
    places.push_back(launches[0].copies.operands[0].to);
    for (std::size_t i = 0; i < launches.size(); i += 2) {
      EXPECT_EQ(launches[i].stream, stream->get());
      EXPECT_EQ(launches[i + 1].stream, stream->get());
      EXPECT_EQ(launches[i].copies.operands[0].to, places.back());
      EXPECT_THAT((CopiedCall{launches[i], launches[i + 1]}.loaded()), Contains(places.back()));
    }
  }
  EXPECT_EQ(places[0], places[2]);
  EXPECT_EQ(places[1], places[3]);
  EXPECT_NE(places[0], places[1]);
  ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
}

TEST_F(Divided, PlainProductsToo) {
  GemmArguments gemm;
  gemm.m = gemm.n = gemm.ldc = 8192;
  gemm.k = 8191, gemm.lda = 8192, gemm.ldb = 8193;
  char text[1 << 15];
  gemm.text = text, gemm.text_size = sizeof text;
  ASSERT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  ASSERT_THAT(text, HasSubstr("\ndivided    into 4 products of 2048 rows, each behind its copy\n"));
  for (int i = 0; i < 2; ++i) {
    fake_cuda().reset();
    ASSERT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(fake_cuda().launches(), 8);
    for (long n = 0; n < 8; ++n) EXPECT_EQ(fake_cuda().launch(n)->is_copy(), n % 2 == 0);
    EXPECT_EQ(fake_cuda().launch(7)->params.m, 2048);
  }
  std::size_t size = 0;
  gemm.workspace_size = &size;
  ASSERT_EQ(workspace_size(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(size, std::size_t{2} * 8192 * 8192) << "with which nothing is divided";
  ASSERT_EQ(bwgemmSetWorkspace(handle(), device_pointer(0x7f0060000000), size),
            BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(text, Not(HasSubstr("\ndivided ")));
  fake_cuda().reset();
  ASSERT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(fake_cuda().launches(), 2);
  ASSERT_EQ(bwgemmSetWorkspace(handle(), device_pointer(0x7f0060000000), size - 1),
            BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(text, HasSubstr("\ndivided    into 2 products of 4096 rows"));
}

// Rows of D that end inside of 16 bytes do so in the last part alone.
TEST_F(Divided, PlainProductsOfAnyLength) {
  GemmArguments gemm;
  gemm.m = 8189, gemm.n = gemm.ldc = 8192;
  gemm.k = 8191, gemm.lda = 8193, gemm.ldb = 8192;
  for (const float* beta : {&GemmArguments::zero, &GemmArguments::one}) {
    gemm.beta = beta;
    fake_cuda().reset();
    EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(fake_cuda().launches(), 8);
  }
}

}  // namespace
}  // namespace bwgemm::test
