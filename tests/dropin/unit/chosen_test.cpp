// SPDX-License-Identifier: Apache-2.0
// The file that lists calls to serve and calls to leave to cuBLAS.
#include "dropin/chosen.h"

#include <gtest/gtest.h>

#include "dropin/record.h"

namespace bwgemm::test {
namespace {

using dropin::Call;
using dropin::Chosen;
using dropin::Entry;
using dropin::Listed;
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
  EXPECT_EQ(chosen.find(call(), 0), Listed::no);
  return why;
}

TEST(DropinChosen, ALogIsSuchAFile) {
  const std::string line = kind_of(call(), nullptr, Outcome::served, Reason::none);
  const std::string text = dropin::columns + ("17,libcublas.so.13," + line + "3\n");
  Chosen chosen;
  std::string why;
  ASSERT_TRUE(chosen.read(text, why)) << why;
  EXPECT_EQ(chosen.find(call(), 0), Listed::to_serve);
}

TEST(DropinChosen, EachColumnDecides) {
  const std::string text(std::string(heads) + "cublasSgemmEx,0,0,1,1,1,2,2,2,2,0,1,68,1\n\n" +
                         "cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,1\r\n");
  Chosen chosen;
  std::string why;
  ASSERT_TRUE(chosen.read(text, why)) << why;
  ASSERT_EQ(chosen.find(call(), 0), Listed::to_serve);
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
    EXPECT_EQ(chosen.find(made, 0), Listed::no);
  }
  Call made = call();
  made.a.ld = 72;  // of no column
  EXPECT_EQ(chosen.find(made, 0), Listed::to_serve);
}

// heads, with `more` columns, above lines of the call that end with `ends`.
Chosen listing(const std::string& more, const std::vector<std::string>& ends) {
  std::string text = heads;
  text.pop_back();
  text.append(more).append("\n");
  for (const std::string& end : ends)
    text.append("cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,1").append(end).append("\n");
  Chosen chosen;
  std::string why;
  EXPECT_TRUE(chosen.read(text, why)) << why;
  return chosen;
}

TEST(DropinChosen, ALineSaysWhichSideComputes) {
  EXPECT_EQ(listing(",serve", {",1"}).find(call(), 0), Listed::to_serve);
  EXPECT_EQ(listing(",serve", {",0"}).find(call(), 0), Listed::to_forward);
  EXPECT_EQ(listing(",serve", {",1", ",0"}).find(call(), 0), Listed::to_forward);
  EXPECT_EQ(listing(",serve", {",0", ",1"}).find(call(), 0), Listed::to_forward);
}

TEST(DropinChosen, LinesAreForTheirDevice) {
  const Chosen chosen = listing(",device,serve", {",NVIDIA H200,0", ",NVIDIA B200,1"});
  EXPECT_EQ(chosen.find(call(), chosen.device("NVIDIA H200")), Listed::to_forward);
  EXPECT_EQ(chosen.find(call(), chosen.device("NVIDIA B200")), Listed::to_serve);
  EXPECT_EQ(chosen.device("NVIDIA B300"), -1);
  EXPECT_EQ(chosen.find(call(), -1), Listed::no);
  const Chosen of_all = listing("", {""});
  EXPECT_EQ(of_all.find(call(), of_all.device("NVIDIA B300")), Listed::to_serve);
}

// As programs for tables write them.
TEST(DropinChosen, LinesMayEndAsWindowsEndsThem) {
  const Chosen chosen = listing(",serve,device\r", {",0,NVIDIA H200\r"});
  EXPECT_EQ(chosen.find(call(), chosen.device("NVIDIA H200")), Listed::to_forward);
  EXPECT_EQ(chosen.device("NVIDIA B200"), -1);
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
  const std::string with_serve =
      "serve," + std::string(heads) + "1," + good.substr(good.find('\n') + 1);
  EXPECT_EQ(why_bad(with_serve + "yes,cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,1\n"),
            "line 3 is not like the first one");
}

}  // namespace
}  // namespace bwgemm::test
