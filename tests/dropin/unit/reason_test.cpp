// SPDX-License-Identifier: Apache-2.0
// Why a call goes to cuBLAS, as the log names it.
#include "dropin/reason.h"

#include <gtest/gtest.h>
#include <string_view>

namespace bwgemm::test {
namespace {

using dropin::Call;
using dropin::CallSettings;
using dropin::Entry;
using dropin::name;
using dropin::Reason;
using dropin::why_forwarded;

struct Case {
  std::string_view reason;
  void (*change)(Call&, CallSettings&);
};

constexpr Case cases[] = {
    {"", [](Call&, CallSettings&) {}},
    {"", [](Call& call, CallSettings&) { call.c.type = CUDA_R_32F; }},
    {"", [](Call& call, CallSettings&) { call.compute = CUBLAS_COMPUTE_16F; }},
    {"", [](Call&, CallSettings& set) { set.pointer_mode = CUBLAS_POINTER_MODE_DEVICE; }},
    {"empty", [](Call& call, CallSettings&) { call.batch = 0; }},
    {"null_scalar", [](Call& call, CallSettings&) { call.beta = nullptr; }},
    {"types", [](Call& call, CallSettings&) { call.a.type = CUDA_R_16BF; }},
    {"types", [](Call& call, CallSettings&) { call.b.type = CUDA_R_16BF; }},
    {"types", [](Call& call, CallSettings&) { call.c.type = CUDA_R_16BF; }},
    {"types",
     [](Call& call, CallSettings&) { call.a.type = call.b.type = call.c.type = CUDA_R_32F; }},
    {"types",
     [](Call& call, CallSettings&) {
       call.compute = CUBLAS_COMPUTE_16F;
       call.c.type = CUDA_R_32F;
     }},
    {"compute_type", [](Call& call, CallSettings&) { call.compute = CUBLAS_COMPUTE_32F_PEDANTIC; }},
    {"algo", [](Call& call, CallSettings&) { call.algo = 0; }},
    {"compute_type",
     [](Call& call, CallSettings&) { call.compute = CUBLAS_COMPUTE_32F_FAST_16BF; }},
    {"",
     [](Call& call, CallSettings&) {
       call.entry = Entry::lt_matmul;
       call.compute = CUBLAS_COMPUTE_32F_FAST_16BF;
       call.algo = 71;
     }},
    {"empty",
     [](Call& call, CallSettings&) {
       call.entry = Entry::lt_matmul;
       call.k = 0;
     }},
    {"types",
     [](Call& call, CallSettings&) {
       call.d = dropin::Operand{nullptr, CUDA_R_16BF, 256, 0};
     }},
    {"epilogue", [](Call& call, CallSettings&) { call.epilogue.kind = CUBLASLT_EPILOGUE_BIAS; }},
    {"pointer_mode", [](Call&, CallSettings& set) { set.pointer_mode = 2; }},
    {"math_mode", [](Call&, CallSettings& set) { set.math_mode = CUBLAS_PEDANTIC_MATH; }},
    {"half_on_device",
     [](Call& call, CallSettings& set) {
       call.compute = CUBLAS_COMPUTE_16F;
       set.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
     }},
};

TEST(DropinReason, OfEachCall) {
  static constexpr float one = 1, zero = 0;
  for (const Case& tried : cases) {
    Call call{Entry::gemm_ex,
              nullptr,
              CUBLAS_OP_T,
              CUBLAS_OP_N,
              256,
              128,
              64,
              &one,
              &zero,
              {nullptr, CUDA_R_16F, 64, 0},
              {nullptr, CUDA_R_16F, 64, 0},
              {nullptr, CUDA_R_16F, 256, 0},
              1,
              CUBLAS_COMPUTE_32F,
              CUBLAS_GEMM_DEFAULT};
    CallSettings settings{};
    tried.change(call, settings);
    Reason reason = why_forwarded(call);
    if (reason == Reason::none) reason = why_forwarded(call, settings);
    EXPECT_EQ(name(reason), tried.reason) << &tried - cases;
  }
}

TEST(DropinReason, Names) {
  EXPECT_STREQ(name(Reason::none), "");
  EXPECT_STREQ(name(Reason::unknown_handle), "unknown_handle");
  EXPECT_STREQ(name(Reason::handle_state), "handle_state");
  EXPECT_STREQ(name(Reason::descriptor), "descriptor");
  EXPECT_STREQ(name(Reason::other_context), "other_context");
  EXPECT_STREQ(name(Reason::policy), "policy");
  EXPECT_STREQ(name(Reason::refused), "refused");
  EXPECT_STREQ(name(Reason::unchecked), "unchecked");
}

}  // namespace
}  // namespace bwgemm::test
