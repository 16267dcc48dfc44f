// SPDX-License-Identifier: Apache-2.0
// The file of calls that policy faster serves.
#include "dropin/chosen.h"

#include <gtest/gtest.h>

#include "dropin/record.h"

namespace bwgemm::test {
namespace {

using dropin::Call;
using dropin::Chosen;
using dropin::Entry;
using dropin::Outcome;
using dropin::Reason;

constexpr char heads[] =
    "function,transa,transb,m,n,k,Atype,Btype,Ctype,Dtype,orders,epilogue,compute,batch\n";

Call call() {
  return {Entry::gemm_ex,
          nullptr,
          CUBLAS_OP_T,
          CUBLAS_OP_N,
          256,
          128,
          64,
          nullptr,
          nullptr,
          {nullptr, CUDA_R_16BF, 64, 0},
          {nullptr, CUDA_R_16BF, 64, 0},
          {nullptr, CUDA_R_16BF, 256, 0},
          1,
          CUBLAS_COMPUTE_32F,
          CUBLAS_GEMM_DEFAULT};
}

std::string why_bad(const std::string& text) {
  Chosen chosen;
  std::string why;
  EXPECT_FALSE(chosen.read(text, why));
  EXPECT_FALSE(chosen.has(call()));
  return why;
}

TEST(DropinChosen, ALogIsSuchAFile) {
  const std::string line = kind_of(call(), nullptr, Outcome::served, Reason::none);
  const std::string text = dropin::columns + ("17," + line + "3\n");
  Chosen chosen;
  std::string why;
  ASSERT_TRUE(chosen.read(text, why)) << why;
  EXPECT_TRUE(chosen.has(call()));
}

TEST(DropinChosen, EachColumnDecides) {
  const std::string text(std::string(heads) + "cublasSgemmEx,0,0,1,1,1,2,2,2,2,0,1,68,1\n\n" +
                         "cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,1\r\n");
  Chosen chosen;
  std::string why;
  ASSERT_TRUE(chosen.read(text, why)) << why;
  ASSERT_TRUE(chosen.has(call()));
  const std::vector<void (*)(Call&)> changes = {
      [](Call& made) { made.entry = Entry::hgemm; },
      [](Call& made) { made.transa = 0; },
      [](Call& made) { made.transb = 1; },
      [](Call& made) { made.m = 255; },
      [](Call& made) { made.n = 255; },
      [](Call& made) { made.k = 255; },
      [](Call& made) { made.a.type = CUDA_R_16F; },
      [](Call& made) { made.b.type = CUDA_R_16F; },
      [](Call& made) { made.c.type = CUDA_R_32F; },
      [](Call& made) {
        made.d = dropin::Operand{nullptr, CUDA_R_32F, 256, 0};
      },
      [](Call& made) { made.b.order = CUBLASLT_ORDER_ROW; },
      [](Call& made) { made.epilogue.kind = CUBLASLT_EPILOGUE_RELU; },
      [](Call& made) { made.compute = CUBLAS_COMPUTE_16F; },
      [](Call& made) { made.batch = 2; }};
  EXPECT_EQ(changes.size(), dropin::chosen_columns.size());
  for (const auto change : changes) {
    Call made = call();
    change(made);
    EXPECT_FALSE(chosen.has(made));
  }
  Call made = call();
  made.a.ld = 72;  // of no column
  EXPECT_TRUE(chosen.has(made));
}

TEST(DropinChosen, DamagedFilesChooseNothing) {
  EXPECT_EQ(why_bad(""), "it has no column function");
  EXPECT_EQ(why_bad("function,m\n"), "it has no column transa");
  const std::string good =
      std::string(heads) + "cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,1\n";
  for (const char* bad : {"cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68\n", "cublasGemmEx,1\n",
                          "cublasDgemm,1,0,256,128,64,14,14,14,14,0,1,68,1\n",
                          "cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,1x\n"})
    EXPECT_EQ(why_bad(good + bad), "line 3 is not like the first one") << bad;
}

}  // namespace
}  // namespace bwgemm::test
