// SPDX-License-Identifier: Apache-2.0
// What the log and mode check write about a call.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dropin/bench_line.h"
#include "dropin/record.h"

namespace bwgemm::test {
namespace {

using dropin::Call;
using dropin::CallSettings;
using dropin::Entry;
using dropin::Outcome;
using dropin::Reason;

constexpr float one = 1, zero = 0, third = 1.0F / 3;

void* at(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

Call addressed_call() {
  return {Entry::gemm_ex,
          nullptr,
          CUBLAS_OP_T,
          CUBLAS_OP_N,
          256,
          128,
          64,
          &one,
          &zero,
          {at(0x1000), CUDA_R_16BF, 64, 0},
          {at(0x2000), CUDA_R_16BF, 64, 0},
          {at(0x3000), CUDA_R_16BF, 256, 0},
          1,
          CUBLAS_COMPUTE_32F,
          CUBLAS_GEMM_DEFAULT};
}

constexpr CallSettings host{nullptr, 0, 0, 0, nullptr, 0};
constexpr CallSettings device{nullptr, CUBLAS_POINTER_MODE_DEVICE, 16, 7, nullptr, 4096};

TEST(DropinBenchLine, Plain) {
  EXPECT_EQ(bench_line(addressed_call(), host),
            "bwgemm_bench --colmajor --problem \"m=256,n=128,k=64,transa=T,transb=N,dtype=bf16,"
            "out=bf16,batch=1,beta=0\"");
}

TEST(DropinBenchLine, Unusual) {
  Call made = addressed_call();
  made.entry = Entry::gemm_strided_batched_ex;
  made.alpha = &third;
  made.batch = 3;
  made.a = {at(0x1002), CUDA_R_16F, 65, 65 * 256};
  made.b.stride = 0;
  made.c = {at(0x3004), CUDA_R_32F, 256, 256 * 128};
  EXPECT_EQ(bench_line(made, host),
            "bwgemm_bench --colmajor --problem \"m=256,n=128,k=64,transa=T,transb=N,dtype=f16,"
            "out=f32,batch=3,beta=0,alpha=0.33333334,lda=65,aligna=2,strideb=0,alignc=4\"");
  EXPECT_THAT(bench_line(made, device), ::testing::HasSubstr(",scalars=device,"));
}

// The bench has no arrays of pointers.
TEST(DropinBenchLine, ArraysOfPointers) {
  Call made = addressed_call();
  made.entry = Entry::gemm_batched_ex;
  made.batch = 3;
  EXPECT_EQ(bench_line(made, host),
            "bwgemm_bench --colmajor --problem \"m=256,n=128,k=64,transa=T,transb=N,dtype=bf16,"
            "out=bf16,batch=3,beta=0\"  # the call has arrays of pointers");
}

TEST(DropinBenchLine, OfCublasLt) {
  Call made = addressed_call();
  made.entry = Entry::lt_matmul;
  made.d = dropin::Operand{at(0x4000), CUDA_R_32F, 300, 0};
  made.epilogue.kind = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  EXPECT_EQ(
      bench_line(made, host),
      "bwgemm_bench --colmajor --problem \"m=256,n=128,k=64,transa=T,transb=N,dtype=bf16,"
      "out=f32,batch=1,beta=0,epilogue=bias_gelu_tanh,ldc=300\"  # the call has C apart from D, "
      "more outputs than D");
  made.d->order = CUBLASLT_ORDER_ROW;
  EXPECT_THAT(bench_line(made, host), ::testing::HasSubstr("has matrices in row order, C apart"));
}

// A line has a field for each column, but for the process in front and the count behind.
TEST(DropinRecord, Columns) {
  const auto commas = [](const std::string& text) {
    return std::count(text.begin(), text.end(), ',');
  };
  for (const CallSettings* settings : {&host, static_cast<const CallSettings*>(nullptr)})
    EXPECT_EQ(commas(kind_of(addressed_call(), settings, Outcome::served, Reason::none)) + 2,
              commas(dropin::columns));
}

TEST(DropinRecord, Fields) {
  EXPECT_EQ(
      kind_of(addressed_call(), &host, Outcome::served, Reason::none),
      "cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,-1,,64,64,256,256,0,0,0,0,1,16,host,0,0,"
      "0,0,served,,");
  Call made = addressed_call();
  made.b.data = at(0x2002);
  EXPECT_EQ(
      kind_of(made, &device, Outcome::forwarded, Reason::algo),
      "cublasGemmEx,1,0,256,128,64,14,14,14,14,0,1,68,-1,,64,64,256,256,0,0,0,0,1,2,device,,16,"
      "4096,7,forwarded,algo,");
  EXPECT_THAT(kind_of(made, nullptr, Outcome::forwarded, Reason::unknown_handle),
              ::testing::EndsWith(",1,2,,,,,,forwarded,unknown_handle,"));
  EXPECT_THAT(kind_of(made, &host, Outcome::forwarded, Reason::none),
              ::testing::EndsWith(",servable,,"));
  EXPECT_THAT(kind_of(made, &host, Outcome::differed, Reason::none),
              ::testing::EndsWith(",differed,,"));
}

TEST(DropinRecord, AlgorithmOfCublasLt) {
  const cublasLtMatmulAlgo_t algo{{0x1, 0xabcdef, 0, 0, 0, 0, 0, 0xf000000000000002}};
  Call made = addressed_call();
  made.lt_algo = &algo;
  EXPECT_THAT(kind_of(made, &host, Outcome::served, Reason::none),
              ::testing::HasSubstr(",68,-1,00000000000000010000000000abcdef" +
                                   std::string(80, '0') + "f000000000000002,64,"));
}

TEST(DropinRecord, WhetherCIsRead) {
  const float some = 0.5;
  Call made = addressed_call();
  made.beta = &some;
  EXPECT_THAT(kind_of(made, &host, Outcome::served, Reason::none),
              ::testing::EndsWith(",host,1,0,0,0,served,,"));
  made.beta = nullptr;
  EXPECT_THAT(kind_of(made, &host, Outcome::forwarded, Reason::null_scalar),
              ::testing::EndsWith(",host,,0,0,0,forwarded,null_scalar,"));
}

TEST(DropinRecord, OfCublasLt) {
  Call made = addressed_call();
  made.entry = Entry::lt_matmul;
  made.d = dropin::Operand{at(0x3004), CUDA_R_32F, 512, 7, CUBLASLT_ORDER_ROW};
  made.b.order = CUBLASLT_ORDER_ROW;
  made.epilogue.kind = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  EXPECT_EQ(
      kind_of(made, &host, Outcome::served, Reason::none),
      "cublasLtMatmul,1,0,256,128,64,14,14,14,0,101,164,68,-1,,64,64,256,512,0,0,0,7,1,4,host,"
      "0,0,0,0,served,,");
}

}  // namespace
}  // namespace bwgemm::test
