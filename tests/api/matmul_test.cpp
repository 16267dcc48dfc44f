// SPDX-License-Identifier: Apache-2.0
// bwgemmMatmul over the test double: what it launches is what bwgemmGemmEx launches for the same
// product, however that is written; what it adds reaches the kernel; and calls that are like calls
// before them launch what a handle that saw no other call launches.
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

struct Outcome {
  bwgemmStatus_t status = BWGEMM_STATUS_SUCCESS;
  FakeLaunch launch{};
};

// Scratch of the library lies elsewhere in each handle: what remains says whether there is some.
void forget_scratch(MappedParams& params, bool is_own) {
  if (!is_own && params.partials != nullptr)
    params.partials = static_cast<float*>(device_pointer(1));
  if (params.arrivals != nullptr) params.arrivals = static_cast<std::uint32_t*>(device_pointer(1));
}

Outcome outcome(bwgemmHandle_t handle, const MatmulCall& call) {
  fake_cuda().reset();
  Outcome result;
  result.status = matmul(handle, call);
  if (fake_cuda().launches() > 0) result.launch = *fake_cuda().launch(0);
  forget_scratch(result.launch.params, call.desc.workspace != nullptr);
  return result;
}

Outcome outcome_of_new_handle(const MatmulCall& call) {
  bwgemmHandle_t handle = nullptr;
  EXPECT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  const Outcome result = outcome(handle, call);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  return result;
}

void expect_equal(const Outcome& seen, const Outcome& expected, const std::string& what) {
  EXPECT_EQ(seen.status, expected.status) << what;
  EXPECT_STREQ(seen.launch.kernel, expected.launch.kernel) << what;
  EXPECT_EQ(seen.launch.grid, expected.launch.grid) << what;
  EXPECT_EQ(seen.launch.smem_bytes, expected.launch.smem_bytes) << what;
  EXPECT_EQ(std::memcmp(&seen.launch.params, &expected.launch.params, sizeof(MappedParams)), 0)
      << what;
}

Outcome gemm_outcome(bwgemmHandle_t handle, const GemmArguments& gemm, bool is_batched) {
  fake_cuda().reset();
  Outcome result;
  result.status = is_batched ? gemm_batched(handle, gemm) : gemm_ex(handle, gemm);
  result.launch = only_launch();
  forget_scratch(result.launch.params, false);
  return result;
}

// The call of bwgemmMatmul that is a call of bwgemmGemmEx.
MatmulCall same_as(const GemmArguments& gemm, bool is_batched) {
  MatmulCall call;
  bwgemmMatmulDesc_t& desc = call.desc;
  desc.transa = gemm.transa, desc.transb = gemm.transb;
  desc.m = gemm.m, desc.n = gemm.n, desc.k = gemm.k;
  desc.Atype = gemm.a_type, desc.Btype = gemm.b_type;
  desc.Ctype = desc.Dtype = gemm.c_type;
  desc.lda = gemm.lda, desc.ldb = gemm.ldb;
  desc.ldc = desc.ldd = gemm.ldc;
  if (is_batched) {
    desc.batchCount = gemm.batch_count;
    desc.strideA = gemm.stride_a, desc.strideB = gemm.stride_b;
    desc.strideC = desc.strideD = gemm.stride_c;
  }
  call.alpha = gemm.alpha, call.beta = gemm.beta;
  call.a = gemm.a, call.b = gemm.b;
  call.c = call.d = gemm.c;
  return call;
}

// And as row-order matrices: the transposed product, with what is stored left where it is.
MatmulCall in_row_order(const GemmArguments& gemm, bool is_batched) {
  MatmulCall call = same_as(gemm, is_batched);
  bwgemmMatmulDesc_t& desc = call.desc;
  std::swap(desc.m, desc.n);
  std::swap(desc.lda, desc.ldb);
  std::swap(desc.strideA, desc.strideB);
  std::swap(call.a, call.b);
  std::swap(desc.transa, desc.transb);
  desc.Aorder = desc.Border = desc.Corder = desc.Dorder = BWGEMM_ORDER_ROW;
  return call;
}

using Matmul = FakeHandleTest;

TEST_F(Matmul, IsAGemmWhereItSaysTheSame) {
  GemmArguments plain, scaled, other;
  scaled.beta = &GemmArguments::one;
  other.transa = BWGEMM_OP_N, other.transb = BWGEMM_OP_T, other.c_type = BWGEMM_R_32F;
  for (const GemmArguments& gemm :
       {plain, scaled, other, GemmArguments::split(), GemmArguments::unaligned()})
    for (const bool is_batched : {false, true}) {
      const Outcome expected = gemm_outcome(handle(), gemm, is_batched);
      EXPECT_EQ(expected.status, BWGEMM_STATUS_SUCCESS);
      expect_equal(outcome(handle(), same_as(gemm, is_batched)), expected, "columns");
      expect_equal(outcome(handle(), in_row_order(gemm, is_batched)), expected, "rows");
    }
}

TEST_F(Matmul, CMayLieApartFromD) {
  MatmulCall call;
  call.beta = &MatmulCall::one;
  call.desc.ldc = 264;
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_NE(std::memcmp(&only_launch().params.c_map, &only_launch().params.d_map,
                        sizeof only_launch().params.c_map),
            0);
}

TEST_F(Matmul, NullBetaIsZeroInEitherPointerMode) {
  MatmulCall call;
  call.beta = nullptr;
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  call.alpha = device_pointer(0x7f0050000000);
  for (int i = 0; i < 2; ++i) {  // also once the plan is known
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(only_launch().params.alpha.device, call.alpha);
    EXPECT_EQ(only_launch().params.beta.device, nullptr);
    EXPECT_EQ(only_launch().params.beta.value, 0);
  }
}

TEST_F(Matmul, ACallMayBringAWorkspace) {
  MatmulCall call = same_as(GemmArguments::split(), false);
  const Outcome of_handle = outcome(handle(), call);
  EXPECT_GT(of_handle.launch.params.splits, 1);
  call.desc.workspaceSize = 1;
  EXPECT_EQ(outcome(handle(), call).launch.params.splits, 1) << "that is none";
  call.desc.workspace = device_pointer(0x7f0060000000);
  call.desc.workspaceSize = std::size_t{16} << 20;
  for (int i = 0; i < 2; ++i) {
    const Outcome own = outcome(handle(), call);
    EXPECT_GT(own.launch.params.splits, 1);
    EXPECT_EQ(own.launch.params.partials, call.desc.workspace);
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
    call.desc.workspace = device_pointer(0x7f0061000000);
  }
  ASSERT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(outcome(handle(), call).launch.params.partials, call.desc.workspace);
  call.desc.workspace = nullptr, call.desc.workspaceSize = 0;
  EXPECT_EQ(outcome(handle(), call).launch.params.splits, 1) << "as the handle has none";
}

TEST_F(Matmul, QueriesAnswerForTheSameProduct) {
  const GemmArguments split = GemmArguments::split();
  const MatmulCall call = in_row_order(split, false);
  std::size_t of_gemm = 0, of_matmul = 0;
  char gemm_text[20000], matmul_text[20000];
  GemmArguments gemm = split;
  gemm.workspace_size = &of_gemm, gemm.text = gemm_text, gemm.text_size = sizeof gemm_text;
  ASSERT_EQ(workspace_size(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(explain(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(workspace_size(handle(), call, &of_matmul), BWGEMM_STATUS_SUCCESS);
  EXPECT_GT(of_matmul, 0u);
  EXPECT_EQ(of_matmul, of_gemm);
  for (bwgemmHandle_t asked : {handle(), bwgemmHandle_t{}}) {
    EXPECT_EQ(explain(asked, gemm), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(explain(asked, call, matmul_text, sizeof matmul_text), BWGEMM_STATUS_SUCCESS);
    EXPECT_STREQ(matmul_text, gemm_text);
  }
  EXPECT_EQ(workspace_size(handle(), call, nullptr), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "size")) << bwgemmGetLastErrorString();
}

TEST_F(Matmul, TheReportSaysWhatIsFused) {
  const MatmulCall call = MatmulCall::with_aux();
  char text[20000];
  ASSERT_EQ(explain(nullptr, call, text, sizeof text), BWGEMM_STATUS_SUCCESS);
  EXPECT_THAT(text, ::testing::HasSubstr("\nwith       aux bf16 ld 256 written, relu\n"));
}

TEST_F(Matmul, ArraysOfPointersReachTheKernel) {
  GemmArguments gemm;
  const void* const* const a = static_cast<const void* const*>(device_pointer(0x7f0000000000));
  const void* const* const b = static_cast<const void* const*>(device_pointer(0x7f0000001000));
  void* const* const c = static_cast<void* const*>(device_pointer(0x7f0000002000));
  std::int64_t count = 3;
  const auto call = [&](const void* const* a_array, int algo) {
    fake_cuda().reset();
    return bwgemmGemmBatchedEx(handle(), BWGEMM_OP_T, BWGEMM_OP_N, 256, 256, 256, gemm.alpha,
                               a_array, BWGEMM_R_16BF, 256, b, BWGEMM_R_16BF, 256, gemm.beta, c,
                               BWGEMM_R_16BF, 256, count, BWGEMM_COMPUTE_32F, algo);
  };
  EXPECT_EQ(call(nullptr, -1), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "Aarray")) << bwgemmGetLastErrorString();
  EXPECT_EQ(call(a, 50), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "algo")) << bwgemmGetLastErrorString();
  ASSERT_EQ(gemm_batched(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  for (int i = 0; i < 2; ++i) {  // whose plan is not taken for that of the arrays
    ASSERT_EQ(call(a, -1), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    const MappedParams& params = only_launch().params;
    EXPECT_TRUE(params.is_pointer_array);
    EXPECT_EQ(params.batch, 3);
    EXPECT_EQ(params.a.data, b);  // in row order
    EXPECT_EQ(params.b.data, a);
    EXPECT_EQ(params.d.data, c);
  }
  count = 1;
  gemm.a = a, gemm.b = b, gemm.c = const_cast<void**>(c);
  ASSERT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(call(a, -1), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_TRUE(only_launch().params.is_pointer_array) << "in all else it is the same call";
}

struct Change {
  const char* name;
  std::function<void(MatmulCall&)> make;
};

// Of a call with everything; some are refused, and must be whenever they come.
std::vector<Change> changes() {
  static const float two = 2;
  return {
      {"nothing", [](auto&) {}},
      {"A", [](auto& c) { c.a = moved(c.a, 4096); }},
      {"B", [](auto& c) { c.b = moved(c.b, 4096); }},
      {"C", [](auto& c) { c.c = moved(c.c, 4096); }},
      {"D", [](auto& c) { c.d = const_cast<void*>(moved(c.d, 4096)); }},
      {"C is D", [](auto& c) { c.c = c.d; }},
      {"alpha", [](auto& c) { c.alpha = &two; }},
      {"beta", [](auto& c) { c.beta = &two; }},
      {"no beta", [](auto& c) { c.beta = nullptr; }},
      {"bias", [](auto& c) { c.desc.bias = moved(c.desc.bias, 4096); }},
      {"bias elsewhere in 16 bytes", [](auto& c) { c.desc.bias = moved(c.desc.bias, 2); }},
      {"no bias", [](auto& c) { c.desc.bias = nullptr; }},
      {"bias along n", [](auto& c) { c.desc.biasDim = BWGEMM_DIM_N; }},
      {"type of bias", [](auto& c) { c.desc.biasType = BWGEMM_R_32F; }},
      {"rowScale",
       [](auto& c) { c.desc.rowScale = static_cast<const float*>(moved(c.desc.rowScale, 4096)); }},
      {"no rowScale", [](auto& c) { c.desc.rowScale = nullptr; }},
      {"columnScale",
       [](auto& c) {
         c.desc.columnScale = static_cast<const float*>(moved(c.desc.columnScale, 4096));
       }},
      {"aux", [](auto& c) { c.desc.aux = const_cast<void*>(moved(c.desc.aux, 4096)); }},
      {"derivative", [](auto& c) { c.desc.auxMode = BWGEMM_AUX_DERIVATIVE; }},
      {"no aux", [](auto& c) { c.desc.auxMode = BWGEMM_AUX_NONE, c.desc.aux = nullptr; }},
      {"relu", [](auto& c) { c.desc.activation = BWGEMM_ACTIVATION_RELU; }},
      {"no activation", [](auto& c) { c.desc.activation = BWGEMM_ACTIVATION_NONE; }},
      {"clamp", [](auto& c) { c.desc.activation = BWGEMM_ACTIVATION_CLAMP; }},
      {"clamp of other bounds",
       [](auto& c) { c.desc.activation = BWGEMM_ACTIVATION_CLAMP, c.desc.clampHigh = 6; }},
      {"unknown activation", [](auto& c) { c.desc.activation = 77; }},
      {"gate", [](auto& c) { c.desc.gate = BWGEMM_GATE_STACKED, c.beta = nullptr; }},
      {"row order", [](auto& c) { c.desc.Dorder = c.desc.Corder = BWGEMM_ORDER_ROW; }},
      {"type of C", [](auto& c) { c.desc.Ctype = BWGEMM_R_32F; }},
  };
}

MatmulCall with_everything() {
  MatmulCall call = MatmulCall::with_aux();
  call.beta = &MatmulCall::one;
  call.desc.activation = BWGEMM_ACTIVATION_SILU;
  call.desc.bias = device_pointer(0x7f0070000000);
  call.desc.rowScale = static_cast<const float*>(device_pointer(0x7f0070010000));
  call.desc.columnScale = static_cast<const float*>(device_pointer(0x7f0070020000));
  return call;
}

TEST_F(Matmul, SeesEveryChangeBetweenCalls) {
  ASSERT_EQ(matmul(handle(), with_everything()), BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  for (const Change& first : changes()) {
    MatmulCall call = with_everything();
    first.make(call);
    const Outcome before = outcome_of_new_handle(call);
    for (const Change& second : changes()) {
      MatmulCall other = with_everything();
      second.make(other);
      outcome(handle(), other);
      expect_equal(outcome(handle(), call), before,
                   std::string(first.name) + " after " + second.name);
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
