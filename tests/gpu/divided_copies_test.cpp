// SPDX-License-Identifier: Apache-2.0
// Products in parts: the copy of an operand is forced, and the workspace has room for some of its
// rows or columns. Around and between lines, and around the workspace, lies what must be neither
// read into a result nor overwritten.
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "families/variants.h"
#include "gpu/loose_cases.h"
#include "gpu/order_problems.h"
#include "gpu/row_classes.h"
#include "gpu/row_problems.h"
#include "support/matmul_case.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

// What is copied, and which operands of the call TMA cannot load. The names are those of the
// product with D in rows, whose B is A of the call.
struct Form {
  const char* operands;
  int a, b;
  bool of_m;  // parts have rows of D, which lie in A's lines; else columns
};

constexpr Form forms[] = {{"copied", by_step, aligned, true},
                          {"copied", aligned, by_both, false},
                          {"copied_b", by_both, by_step, true},
                          {"copied_a", by_step, by_start, false}};

// Three parts with the smallest copies, or two with copies of twice their size.
constexpr std::int64_t extent = 600, part = 256;

GemmCase divided_case(const Form& form, GemmCase gemm, std::int64_t distance = 1) {
  const Fill fill = gemm.fill_c == Fill::normal ? Fill::normal : Fill::integers;
  (form.of_m ? gemm.m : gemm.n) = extent;
  (form.of_m ? gemm.n : gemm.m) = 48;
  gemm.ldc_extra += (8 - gemm.m % 8) % 8;
  gemm = placed(gemm, form.a, form.b, distance);
  gemm.fill = fill;
  return gemm;
}

// A handle that copies so into a workspace with room for so many of the lines.
class Divider {
 public:
  Divider(const char* operands, std::int64_t k, std::int64_t lines)
      : forced_("BWGEMM_FORCE_OPERANDS", operands),
        size_(static_cast<std::size_t>(2 * pitch_of(k) * lines)),
        workspace_(Matrix(Dtype::f32, static_cast<std::int64_t>(size_ / 4), 1,
                          static_cast<std::int64_t>(size_ / 4))) {
    EXPECT_TRUE(succeeds(bwgemmSetWorkspace(get(), workspace_.pointer(), size_)));
  }

  bwgemmHandle_t get() const { return handle_.get(); }

  // Of something that would not fit as a whole: something was copied, and into the workspace.
  void expect_workspace_was_used() {
    workspace_.download();
    EXPECT_EQ(workspace_.damage(), "");
    EXPECT_FALSE(workspace_.untouched()) << "nothing was copied";
    workspace_.upload();
  }

  void expect_division(const GemmCase& gemm, const Operands& operands, const Form& form,
                       std::int64_t lines) const {
    const MatmulCall call = matmul_of(gemm, operands);
    std::string text(1 << 16, '\0');
    EXPECT_TRUE(succeeds(explain(get(), call, text.data(), text.size())));
    const std::int64_t parts = (extent + lines - 1) / lines;
    const std::string expected = "\ndivided    into " + std::to_string(parts) + " products of " +
                                 std::to_string(lines) + (form.of_m ? " columns" : " rows") +
                                 ", each behind its copy\n";
    EXPECT_NE(text.find(expected), std::string::npos) << gemm << expected << text.substr(0, 800);
  }

 private:
  // Enough for lines of so many elements, as they are copied.
  static std::int64_t pitch_of(std::int64_t k) {
    return k <= 64 ? (k + 7) / 8 * 8 : (k + 15) / 16 * 16;
  }

  const Variable forced_;
  const Handle handle_;
  const std::size_t size_;
  GuardedBuffer workspace_;
};

using DividedCopies = HandleTest;

void run_divided(const Form& form, const GemmCase& gemm, std::int64_t lines) {
  Divider divider(form.operands, gemm.k, lines);
  Operands operands(gemm);
  divider.expect_division(gemm, operands, form, lines);
  for (int i = 0; i < 2; ++i) {
    operands.device_c().upload();
    ASSERT_TRUE(succeeds(call(divider.get(), gemm, operands))) << gemm;
    operands.expect_result();
    divider.expect_workspace_was_used();
  }
}

TEST_F(DividedCopies, OfEveryTransposeAndType) {
  int i = 0;
  for (const Form& form : forms)
    for (int transposed = 0; transposed < 4; ++transposed, ++i) {
      GemmCase gemm{.transa = (transposed & 1) != 0 ? BWGEMM_OP_T : BWGEMM_OP_N,
                    .transb = (transposed & 2) != 0 ? BWGEMM_OP_T : BWGEMM_OP_N,
                    .k = i % 2 == 0 ? 40 : 72,
                    .beta = i % 3 == 0 ? -2.0f : 0.0f};
      gemm.input = i % 3 == 1 ? Dtype::f16 : Dtype::bf16;
      gemm.output = i % 4 == 2 ? Dtype::f32 : gemm.input;
      gemm.fill_c = gemm.beta == 0 ? Fill::poison : Fill::integers;
      run_divided(form, divided_case(form, gemm, 2 * (i % 4) + 1), i % 5 < 2 ? 2 * part : part);
    }
}

// D that TMA cannot store, or whose lines end inside of 16 bytes, in the last part alone.
TEST_F(DividedCopies, OfAnyLength) {
  for (const Form& form : forms)
    for (int i = 0; i < 4; ++i) {
      GemmCase gemm{.k = 40, .beta = i % 2 == 0 ? 0.0f : 1.0f, .fill_c = Fill::integers};
      gemm = divided_case(form, gemm);
      gemm.m += 1 + i, gemm.n += 1;
      gemm = placed(gemm, form.a, form.b);
      gemm.ldc_extra = i < 2 ? (8 - gemm.m % 8) % 8 : 1;
      gemm.c_displacement = i / 2;
      run_divided(form, gemm, part);
    }
}

TEST_F(DividedCopies, ReadNothingBehindTheLastLine) {
  for (const Form& form : forms)
    for (const bwgemmOperation_t trans : {BWGEMM_OP_N, BWGEMM_OP_T}) {
      GemmCase gemm{.transa = trans, .transb = trans, .k = 40, .fill_c = Fill::integers};
      gemm.nothing_behind = true;
      run_divided(form, divided_case(form, gemm, 3), part);
    }
}

// ---- what is fused ------------------------------------------------------------------------------

// With every vector and matrix that parts must be advanced in.
Fusing fusing_of(int i, Dtype input) {
  Fusing fusing;
  fusing.bias = i % 2 == 0 ? Bias::along_m : Bias::along_n;
  fusing.bias_type = i % 3 == 0 ? Dtype::f32 : input;
  fusing.row_scale = i % 3 != 1, fusing.column_scale = i % 3 != 2;
  fusing.activation = i % 4 < 2 ? BWGEMM_ACTIVATION_GELU_TANH : BWGEMM_ACTIVATION_GELU_ERF;
  fusing.aux = i % 4 == 1 ? BWGEMM_AUX_DERIVATIVE : BWGEMM_AUX_STORE;
  fusing.aux_type = i % 2 == 0 ? input : Dtype::f32;
  fusing.aux_extra = 16;
  fusing.c_apart = i % 2 == 0, fusing.c_in_rows = i % 4 == 2;
  fusing.c = i % 3 == 0 ? Dtype::f32 : input;
  return fusing;
}

TEST_F(DividedCopies, WithAllThatIsFused) {
  int i = 0;
  for (const Form& form : forms)
    for (const Dtype input : {Dtype::bf16, Dtype::f16})
      for (const float beta : {0.5f, 0.0f}) {
        if (input == Dtype::f16 && beta == 0) continue;
        GemmCase gemm{
            .transa = i % 2 == 0 ? BWGEMM_OP_T : BWGEMM_OP_N, .k = 40, .alpha = 0.5f, .beta = beta};
        gemm.input = input;
        gemm.output = i % 4 == 3 ? Dtype::f32 : input;
        gemm.ldc_extra = 8;
        gemm = divided_case(form, gemm);
        Fusing fusing = fusing_of(i++, input);
        if (beta == 0) fusing.c_apart = fusing.c_in_rows = false;
        Divider divider(form.operands, gemm.k, part);
        MatmulOperands operands({gemm, fusing});
        for (int again = 0; again < 2; ++again) {
          operands.restore();
          EXPECT_TRUE(succeeds(operands.call(divider.get())));
          operands.expect_result();
          divider.expect_workspace_was_used();
        }
      }
}

// In rows or columns each; parts have rows of a D in rows, too.
TEST_F(DividedCopies, OfEveryOrder) {
  constexpr std::int64_t k = 40;
  for (int bits = 0; bits < 64; bits += 5)
    for (const bool is_of_b : {false, true}) {
      SCOPED_TRACE(testing::Message() << bits << (is_of_b ? ", copied_b" : ", copied_a"));
      Divider divider(is_of_b ? "copied_b" : "copied_a", k, part);
      const bool of_n = is_of_b == orders_of(bits).d;
      expect_product(divider.get(), orders_of(bits), of_n ? 40 : 264, of_n ? 264 : 40, k, {1, 1},
                     bits % 2 == 0 ? -2.0f : 0.0f);
      divider.expect_workspace_was_used();
    }
}

// ---- streams, graphs, plans ---------------------------------------------------------------------

// The copy of one part waits for the product of the one before, and the first for what writes A.
TEST_F(DividedCopies, InStreamOrder) {
  const Stream stream;
  int i = 0;
  for (const Form& form : forms)
    for (const bool is_captured : {false, true}) {
      Divider divider(form.operands, 40, part);
      ASSERT_TRUE(succeeds(bwgemmSetStream(divider.get(), stream.get())));
      ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(divider.get(), i++ % 3 == 0 ? 0 : 1)));
      const GemmCase first =
          divided_case(form, {.transa = BWGEMM_OP_T, .k = 40, .fill_c = Fill::integers});
      GemmCase second = first;
      second.seed = 2;
      Operands one(first), two(second);
      divider.expect_division(first, one, form, part);
      const auto start = [&] {
        const float zero = 0, minus_one = -1;
        const Matrix& a = one.a();
        EXPECT_TRUE(succeeds(bwgemmBf16(divider.get(), BWGEMM_OP_N, BWGEMM_OP_N, a.rows(),
                                        a.columns(), 1, &zero, nullptr, a.rows(), nullptr, 1,
                                        &minus_one, one.a_pointer(), a.ld())));
        EXPECT_TRUE(succeeds(call(divider.get(), first, one)));
        EXPECT_TRUE(succeeds(call(divider.get(), second, two)));
      };
      if (!is_captured) {
        for (int round = 0; round < 2; ++round) start();
      } else {
        capture_and_replay(stream, 2, start);
      }
      one.expect_result(" behind what changes A");
      two.expect_result(" behind another product");
      divider.expect_workspace_was_used();
    }
}

// Known plans of all parts are those of other addresses.
TEST_F(DividedCopies, MoveWithOperands) {
  for (const Form& form : forms) {
    GemmCase first = divided_case(form, {.k = 40, .beta = -2, .fill_c = Fill::integers});
    GemmCase second = first;
    second.seed = 2;
    Divider divider(form.operands, 40, part);
    Operands one(first), two(second);
    for (Operands* operands : {&one, &two, &two, &one}) {
      operands->device_c().upload();
      EXPECT_TRUE(succeeds(call(divider.get(), first, *operands)));
      operands->expect_result();
    }
  }
}

TEST_F(DividedCopies, InTheLibrarysWorkspaceOfEachStream) {
  const Variable forced("BWGEMM_FORCE_OPERANDS", "copied");
  const Handle own;
  ASSERT_TRUE(succeeds(bwgemmSetWorkspace(own.get(), nullptr, 2 * 40 * part)));
  const Stream streams[2];
  const Form& form = forms[1];
  const GemmCase gemm = divided_case(form, {.k = 40, .fill_c = Fill::integers});
  Operands one(gemm), two(gemm);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(succeeds(bwgemmSetStream(own.get(), streams[i % 2].get())));
    EXPECT_TRUE(succeeds(call(own.get(), gemm, i % 2 == 0 ? one : two)));
  }
  one.expect_result(" beside another stream");
  two.expect_result(" beside another stream");
}

// ---- bits ---------------------------------------------------------------------------------------

std::vector<std::byte> bits_of(bwgemmHandle_t handle, const GemmCase& gemm, Operands& operands) {
  operands.device_c().upload();
  EXPECT_TRUE(succeeds(call(handle, gemm, operands))) << gemm;
  return operands.device_c().download().bytes();
}

// Of every kind of kernel, forced, of which some take one operand from where it is.
TEST_F(DividedCopies, GiveTheBitsOfTheWhole) {
  const bool is_hopper = device_arch() == Arch::sm90;
  int served = 0, i = 0;
  for (const KernelConfig& row : kernel_variants) {
    if ((row.arch == Arch::sm90) != is_hopper || !is_representative(row)) continue;
    const std::string name(kernel_name(row).view());
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    // The even forms of one row leave nothing to copy.
    const int odd = row.tile.m == 1 ? 1 : ++i % 2;
    for (const Form* form : {&forms[odd], &forms[2 + odd]}) {
      SCOPED_TRACE(name + " " + form->operands);
      GemmCase gemm = gemm_of(row, 16, 16, 40, majors(row.a).front(), majors(row.b).front());
      (form->of_m ? gemm.m : gemm.n) = 264;
      gemm = placed(gemm, form->a, form->b);
      gemm.fill = Fill::normal;
      Operands operands(gemm);
      Divider divider(form->operands, gemm.k, part);
      if (call(divider.get(), gemm, operands) == BWGEMM_STATUS_NOT_SUPPORTED) continue;
      operands.expect_result(" by " + name);
      const std::vector<std::byte> divided = operands.device_c().seen().bytes();
      divider.expect_workspace_was_used();
      ASSERT_TRUE(succeeds(bwgemmSetWorkspace(divider.get(), nullptr, std::size_t{1} << 20)));
      EXPECT_EQ(bits_of(divider.get(), gemm, operands), divided) << name << ' ' << gemm;
      ++served;
    }
  }
  EXPECT_GT(served, 8);
}

TEST_F(DividedCopies, AreBatchInvariant) {
  for (const Form& form : forms)
    for (const bwgemmOperation_t transa : {BWGEMM_OP_N, BWGEMM_OP_T}) {
      const GemmCase gemm = divided_case(form, {.transa = transa, .k = 136, .output = Dtype::f32});
      Operands operands(gemm);
      Divider divider(form.operands, gemm.k, part);
      ASSERT_TRUE(
          succeeds(bwgemmSetDeterminism(divider.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT)));
      const std::vector<std::byte> divided = bits_of(divider.get(), gemm, operands);
      divider.expect_workspace_was_used();
      operands.expect_result();
      ASSERT_TRUE(succeeds(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BATCH_INVARIANT)));
      ASSERT_TRUE(succeeds(bwgemmSetWorkspace(handle(), nullptr, 0)));
      EXPECT_EQ(bits_of(handle(), gemm, operands), divided) << gemm;
    }
}

// Nothing is written to a workspace without room for the smallest part.
TEST_F(DividedCopies, AreNotMadeWhereNoPartFits) {
  const Form& form = forms[0];
  const GemmCase gemm = divided_case(form, {.k = 40, .fill_c = Fill::integers});
  Operands operands(gemm);
  const std::int64_t floats = 40 * part / 2 - 1;
  GuardedBuffer workspace(Matrix(Dtype::f32, floats, 1, floats));
  const Variable forced("BWGEMM_FORCE_OPERANDS", form.operands);
  const Handle own;
  ASSERT_TRUE(succeeds(
      bwgemmSetWorkspace(own.get(), workspace.pointer(), static_cast<std::size_t>(4 * floats))));
  EXPECT_TRUE(succeeds(call(own.get(), gemm, operands)));
  operands.expect_result(" in place");
  workspace.download();
  EXPECT_TRUE(workspace.untouched());
}

}  // namespace
}  // namespace bwgemm::test
