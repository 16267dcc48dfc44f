// SPDX-License-Identifier: Apache-2.0
// Operands that TMA cannot load, copied in front of the product, which is forced: lines of every
// length and start, batches, and what shares workspace and launches with the copies. Around and
// between lines lies NaN, which must be neither read into a result nor overwritten.
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include "families/variants.h"
#include "gpu/loose_cases.h"
#include "gpu/row_classes.h"
#include "gpu/row_problems.h"
#include "support/matmul_call.h"
#include "support/matmul_case.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

// Both operands have lines of the length; the third extent is `other`.
GemmCase of_lines(int transposed, std::int64_t length, std::int64_t other) {
  const bool a = (transposed & 1) != 0, b = (transposed & 2) != 0;
  return {.transa = a ? BWGEMM_OP_T : BWGEMM_OP_N,
          .transb = b ? BWGEMM_OP_T : BWGEMM_OP_N,
          .m = a ? other : length,
          .n = b ? length : other,
          .k = a || !b ? length : other};
}

GemmCase both_loose(std::uint64_t seed = 1, float beta = 0) {
  return placed({.m = 75, .n = 43, .k = 91, .beta = beta, .seed = seed}, by_both, by_both);
}

// In what is explained A and B are exchanged.
void expect_copied(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands,
                   const std::string& copied) {
  const MatmulCall call = matmul_of(gemm, operands);
  std::string text(1 << 16, '\0');
  EXPECT_TRUE(succeeds(explain(handle, call, text.data(), text.size())));
  EXPECT_NE(text.find("\ncopied     " + copied + " first"), std::string::npos) << gemm;
}

// The call copies what TMA cannot load, and no more.
void expect_copies(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands) {
  const auto is_loose = [](const void* pointer, const Matrix& matrix) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0 || matrix.ld() % 8 != 0 ||
           (matrix.batch() > 1 && matrix.stride() % 8 != 0);
  };
  const bool a = is_loose(operands.a_pointer(), operands.a());
  const bool b = is_loose(operands.b_pointer(), operands.b());
  expect_copied(handle, gemm, operands, a && b ? "A and B" : a ? "B" : "A");
}

void run_copied(bwgemmHandle_t handle, const GemmCase& gemm) {
  Operands operands(gemm);
  expect_copies(handle, gemm, operands);
  EXPECT_TRUE(succeeds(call(handle, gemm, operands))) << gemm;
  operands.expect_result();
}

// Changes A by a kernel.
void negate_a(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands) {
  const float zero = 0, minus_one = -1;
  EXPECT_TRUE(succeeds(bwgemmBf16(handle, BWGEMM_OP_N, BWGEMM_OP_N, gemm.m, gemm.k, 1, &zero,
                                  nullptr, gemm.m, nullptr, 1, &minus_one, operands.a_pointer(),
                                  operands.a().ld())));
}

class Copies : public HandleTest {
  const Variable forced_{"BWGEMM_FORCE_OPERANDS", "copied"};
};

TEST_F(Copies, OfLinesOfEveryLength) {
  int i = 0;
  for (const std::int64_t length : {8, 9, 15, 16, 17, 23, 63, 65, 134, 257})
    for (int transposed = 0; transposed < 4; ++transposed)
      for (int loose = 1; loose < 16; ++loose, ++i) {
        GemmCase gemm =
            placed(of_lines(transposed, length, 17 + i % 8), loose % 4, loose / 4, 2 * (i % 4) + 1);
        gemm.input = i % 2 == 0 ? Dtype::bf16 : Dtype::f16;
        gemm.output = i % 3 == 0 ? Dtype::f32 : gemm.input;
        gemm.c_displacement = i % 5 == 0 ? 1 : 0;
        run_copied(handle(), gemm);
      }
}

// Pieces of 1024 units: longer lines, and CTAs with several. No call finds copies it could use.
TEST_F(Copies, OfManyPieces) {
  run_copied(handle(), placed(of_lines(1, 8203, 5), by_start, by_step));
  for (const int target : {0, 1, 3, 7}) {
    ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle(), target)));
    run_copied(handle(), placed({.m = 264 + target, .n = 136, .k = 136}, by_step, by_both));
  }
}

// The last unit is each of the four that a thread copies.
TEST_F(Copies, ReadNothingBehindTheLastLine) {
  for (int i = 0; i < 64; ++i) {
    GemmCase gemm = placed(of_lines(i / 4 % 4, 57 + i / 8, 9 + 32 * (i % 4)), i % 3 + 1,
                           (i + 1) % 3 + 1, i % 7 + 1);
    gemm.nothing_behind = true;
    run_copied(handle(), gemm);
  }
}

// Lines start elsewhere in each batch, in all alike, or one matrix is there for all.
TEST_F(Copies, OfBatches) {
  for (int transposed = 0; transposed < 4; ++transposed)
    for (int loose = 1; loose < 8; ++loose)
      for (int repeated = 0; repeated < 4; ++repeated) {
        GemmCase gemm = placed(of_lines(transposed, 41, 65), (loose & 1) != 0 ? by_both : aligned,
                               (loose & 2) != 0 ? by_start : aligned, 3);
        gemm.batch = 3, gemm.stride_extra = (loose & 4) != 0 ? 5 : 0;
        gemm.repeat_a = (repeated & 1) != 0, gemm.repeat_b = (repeated & 2) != 0;
        gemm.nothing_behind = true;
        if (loose != 4 || repeated != 3) run_copied(handle(), gemm);
      }
}

// The other one is read where it is.
TEST_F(Copies, OfOneOfTwo) {
  for (const std::string copied : {"A", "B"}) {
    const Variable forced("BWGEMM_FORCE_OPERANDS", copied == "A" ? "copied_a" : "copied_b");
    const Handle own;
    for (int transposed = 0; transposed < 4; ++transposed)
      for (const int batch : {1, 3}) {
        GemmCase gemm = placed(of_lines(transposed, 41, 75), by_both, by_step, batch);
        gemm.batch = batch, gemm.beta = 2, gemm.nothing_behind = true;
        gemm.repeat_a = batch > 1 && transposed == 1, gemm.repeat_b = batch > 1 && transposed == 2;
        Operands operands(gemm);
        expect_copied(own.get(), gemm, operands, copied);
        EXPECT_TRUE(succeeds(call(own.get(), gemm, operands))) << gemm;
        operands.expect_result();
      }
  }
}

TEST_F(Copies, GiveTheBitsOfAlignedOperands) {
  const bool is_hopper = device_arch() == Arch::sm90;
  const Variable splits("BWGEMM_FORCE_SPLITS", "1");
  int served = 0;
  for (const KernelConfig& row : kernel_variants) {
    if ((row.arch == Arch::sm90) != is_hopper || !is_representative(row)) continue;
    const std::string name(kernel_name(row).view());
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    const Handle forced;
    const GemmCase gemm = gemm_of(row, 72, 56, 200, majors(row.a).front(), majors(row.b).front());
    GemmCase in_place = placed(gemm, aligned, aligned), loose = placed(gemm, by_both, by_both);
    in_place.fill = loose.fill = Fill::normal;
    Operands expected(in_place), operands(loose);
    if (call(forced.get(), in_place, expected) == BWGEMM_STATUS_NOT_SUPPORTED) continue;
    expect_copies(forced.get(), loose, operands);
    EXPECT_TRUE(succeeds(call(forced.get(), loose, operands))) << name;
    operands.expect_result();
    EXPECT_EQ(operands.device_c().seen().bytes(), expected.device_c().download().bytes()) << name;
    ++served;
  }
  EXPECT_GT(served, 5);
}

// Of the call: where it is, also when the plan is known, if it is large enough.
TEST_F(Copies, UseTheWorkspaceWithinItsBounds) {
  const GemmCase gemm = both_loose();
  Operands operands(gemm);
  MatmulCall call = matmul_of(gemm, operands);
  std::size_t wanted = 0;
  ASSERT_TRUE(succeeds(workspace_size(handle(), call, &wanted)));
  for (int i = 0; i < 3; ++i) {
    const std::size_t size = i < 2 ? wanted : wanted - 4;
    const auto floats = static_cast<std::int64_t>(size / sizeof(float));
    GuardedBuffer workspace(Matrix(Dtype::f32, floats, 1, floats), 64 * i);
    call.desc.workspace = workspace.pointer(), call.desc.workspaceSize = size;
    EXPECT_TRUE(succeeds(matmul(handle(), call)));
    operands.expect_result();
    workspace.download();
    EXPECT_EQ(workspace.damage(), "");
    EXPECT_EQ(workspace.untouched(), size < wanted);
  }
}

TEST_F(Copies, OfScalarsOnTheDevice) {
  const DeviceMemory scalars(12 * sizeof(float));
  const UnmappedMemory nowhere;
  ASSERT_TRUE(succeeds(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE)));
  for (int i = 0; i < 6; ++i) {
    GemmCase gemm = both_loose(1, i % 2 == 0 ? 0.0f : 2.0f);
    gemm.alpha = i < 4 ? 0.0f : -0.5f;
    if (gemm.alpha == 0) gemm.fill = Fill::poison;
    gemm.fill_c = gemm.beta == 0 ? Fill::poison : Fill::integers;
    const float values[2] = {gemm.alpha, gemm.beta};
    check(driver().memcpy_htod(scalars.address() + 8 * i, values, sizeof values), "cuMemcpyHtoD");
    Operands operands(gemm);
    expect_copies(handle(), gemm, operands);
    MatmulCall call = matmul_of(gemm, operands);
    call.alpha = scalars.as<float>() + 2 * i, call.beta = scalars.as<float>() + 2 * i + 1;
    if (i < 2) call.a = call.b = static_cast<char*>(nowhere.pointer()) + 2;
    EXPECT_TRUE(succeeds(matmul(handle(), call))) << gemm;
    operands.expect_result(" (device scalars)");
  }
}

// Known plans are those of other addresses, and of a workspace that another stream has elsewhere.
TEST_F(Copies, MoveWithOperandsAndStreams) {
  const Stream streams[2];
  Operands one(both_loose(1, -2)), two(both_loose(2, -2));
  for (int i = 0; i < 8; ++i) {
    Operands& operands = i % 2 == 0 ? one : two;
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), streams[(i + i / 4) % 2].get())));
    EXPECT_TRUE(succeeds(call(handle(), both_loose(1, -2), operands)));
    if (i % 2 == 0) continue;
    one.expect_result(" beside another stream");
    two.expect_result(" beside another stream");
    for (Operands* each : {&one, &two}) each->device_c().upload();
  }
}

TEST_F(Copies, MoveWithCApartFromD) {
  const Fusing fusing{.c_apart = true};
  MatmulOperands one({both_loose(1, -2), fusing}), two({both_loose(2, -2), fusing});
  for (MatmulOperands* operands : {&one, &two, &two, &one}) {
    operands->restore();
    EXPECT_TRUE(succeeds(operands->call(handle())));
    operands->expect_result();
  }
}

// Overlapping or not, at once or replayed, with splits of k, whose sums lie behind the copies, or
// without: nothing is copied before it is written, or to where a product still reads.
TEST_F(Copies, InStreamOrder) {
  const Stream stream;
  GemmCase first = both_loose(1), second = both_loose(2);
  first.k = second.k = 523, first.output = second.output = Dtype::f32;
  for (int i = 0; i < 16; ++i) {
    const Variable splits("BWGEMM_FORCE_SPLITS", i % 2 == 0 ? "1" : "3");
    const Variable sums("BWGEMM_FORCE_SUMS", "memory");
    const Handle own;
    ASSERT_TRUE(succeeds(bwgemmSetStream(own.get(), stream.get())));
    ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(own.get(), i % 8 < 2 ? 0 : 1)));
    Operands one(first), two(second);
    expect_copies(own.get(), first, one);
    const auto start = [&] {
      negate_a(own.get(), first, one);
      EXPECT_TRUE(succeeds(call(own.get(), first, one)));
      EXPECT_TRUE(succeeds(call(own.get(), second, two)));
    };
    if (i < 8) {
      for (int round = 0; round < 2; ++round) start();
    } else {
      capture_and_replay(stream, 4, start);
    }
    one.expect_result(" behind what changes A");
    two.expect_result(" behind another product");
  }
}

// Sums have the workspace after the product, and read operands where the caller has them.
TEST_F(Copies, BesideBiasGradients) {
  constexpr std::int64_t many = 1100;  // terms, in parts of several CTAs
  ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(handle(), 1)));
  for (const bwgemmBiasGradient_t of :
       {BWGEMM_BIAS_GRADIENT_A, BWGEMM_BIAS_GRADIENT_B, BWGEMM_BIAS_GRADIENT_D_COLUMNS}) {
    const bool is_of_a = of == BWGEMM_BIAS_GRADIENT_A, is_of_b = of == BWGEMM_BIAS_GRADIENT_B;
    GemmCase gemm = both_loose();
    (is_of_a || is_of_b ? gemm.k : gemm.m) = many;
    gemm.output = Dtype::f32;
    Operands operands(gemm);
    const std::int64_t outputs = is_of_a ? gemm.m : gemm.n;
    GuardedBuffer gradient(Matrix(Dtype::f32, outputs, 1, outputs));
    MatmulCall call = matmul_of(gemm, operands);
    call.desc.biasGradientOf = of, call.desc.biasGradient = gradient.pointer();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(succeeds(matmul(handle(), call)));
    operands.expect_result(" beside its sums");
    const Matrix& sums = gradient.download();
    EXPECT_EQ(gradient.damage(), "");
    const Matrix& d = operands.device_c().seen();
    const Matrix& summed = is_of_a ? operands.a() : is_of_b ? operands.b() : d;
    for (std::int64_t i = 0; i < outputs; ++i) {
      float sum = 0;  // of integers: exact
      for (std::int64_t j = 0; j < many; ++j) sum += is_of_a ? summed.get(i, j) : summed.get(j, i);
      ASSERT_EQ(sums.get(i, 0), sum) << gemm << " of " << of << ", sum " << i;
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
