// SPDX-License-Identifier: Apache-2.0
// What packaging/docs/coming-from-cublaslt.md tells those who port calls of cuBLASLt, where no
// other test of the API says it: which of cuBLASLt's enumerators are served, how each epilogue is
// written, and what is looked at of a product that computes nothing.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

constexpr bwgemmStatus_t success = BWGEMM_STATUS_SUCCESS;
constexpr bwgemmStatus_t invalid_value = BWGEMM_STATUS_INVALID_VALUE;
constexpr bwgemmStatus_t not_supported = BWGEMM_STATUS_NOT_SUPPORTED;

// The numbers of cublas_api.h, cublasLt.h and library_types.h, which a port may pass on as they
// are.
static_assert(BWGEMM_STATUS_NOT_INITIALIZED == 1 && BWGEMM_STATUS_ALLOC_FAILED == 3 &&
              BWGEMM_STATUS_INVALID_VALUE == 7 && BWGEMM_STATUS_ARCH_MISMATCH == 8 &&
              BWGEMM_STATUS_EXECUTION_FAILED == 13 && BWGEMM_STATUS_INTERNAL_ERROR == 14 &&
              BWGEMM_STATUS_NOT_SUPPORTED == 15);
static_assert(BWGEMM_OP_N == 0 && BWGEMM_OP_T == 1 && BWGEMM_OP_C == 2);
static_assert(BWGEMM_R_32F == 0 && BWGEMM_R_16F == 2 && BWGEMM_R_16BF == 14);
static_assert(BWGEMM_ORDER_COL == 0 && BWGEMM_ORDER_ROW == 1);
static_assert(BWGEMM_BATCH_MODE_STRIDED == 0 && BWGEMM_BATCH_MODE_POINTER_ARRAY == 1);
static_assert(BWGEMM_POINTER_MODE_HOST == 0 && BWGEMM_POINTER_MODE_DEVICE == 1);
static_assert(BWGEMM_COMPUTE_32F == 68);

class Porting : public FakeHandleTest {
 protected:
  void expect(bwgemmStatus_t status, const MatmulCall& call, const std::string& what) {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), status) << what << ": " << bwgemmGetLastErrorString();
    EXPECT_EQ(fake_cuda().launches() > 0, status == success && call.desc.m > 0) << what;
  }
};

TEST_F(Porting, OfCublassComputeTypesOneIsServed) {
  for (int type = 0; type < 256; ++type) {
    MatmulCall call;
    call.desc.computeType = type;
    const bool is_cublass = type >= 64 && type <= 79;
    expect(type == 68   ? success
           : is_cublass ? not_supported
                        : invalid_value,
           call, "computeType " + std::to_string(type));
  }
}

TEST_F(Porting, OfCudasDataTypesTwoAreServed) {
  for (int type = 0; type < 64; ++type) {
    MatmulCall inputs;
    inputs.desc.Atype = inputs.desc.Btype = inputs.desc.Ctype = inputs.desc.Dtype = type;
    const bool is_served = type == BWGEMM_R_16F || type == BWGEMM_R_16BF;
    const bool is_known =
        type == BWGEMM_R_32F || type == BWGEMM_R_8F_E4M3 || type == BWGEMM_R_8F_E5M2;
    expect(is_served  ? success
           : is_known ? not_supported
                      : invalid_value,
           inputs, "types " + std::to_string(type));
    MatmulCall output;
    output.desc.Dtype = type;
    const bool is_output = type == BWGEMM_R_32F || type == BWGEMM_R_16BF;
    expect(is_output               ? success
           : is_served || is_known ? not_supported
                                   : invalid_value,
           output, "Dtype " + std::to_string(type));
  }
}

// HIPBLAS_OP_N, T and C, and hipBLAS's compute types.
TEST_F(Porting, NumbersOfHipblasAreRefused) {
  for (const int operation : {111, 112, 113}) {
    MatmulCall call;
    call.desc.transa = operation;
    expect(invalid_value, call, "transa " + std::to_string(operation));
  }
  for (int type = 0; type <= 10; ++type) {
    MatmulCall call;
    call.desc.computeType = type;
    expect(invalid_value, call, "computeType " + std::to_string(type));
  }
}

TEST_F(Porting, OrdersAreRowsAndColumns) {
  for (const int order : {0, 1, 2, 3, 4, 100, 101, 102, 103})  // of cuBLASLt and hipBLASLt
    for (auto member : {&bwgemmMatmulDesc_t::Aorder, &bwgemmMatmulDesc_t::Border,
                        &bwgemmMatmulDesc_t::Corder, &bwgemmMatmulDesc_t::Dorder}) {
      MatmulCall call;
      call.desc.*member = order;
      expect(order <= BWGEMM_ORDER_ROW ? success : invalid_value, call,
             "order " + std::to_string(order));
    }
}

TEST_F(Porting, PointerModesAreHostAndDevice) {
  for (int mode = 0; mode <= 4; ++mode)  // 2, 3 and 4 are modes of alpha vectors
    EXPECT_EQ(bwgemmSetPointerMode(handle(), static_cast<bwgemmPointerMode_t>(mode)),
              mode <= BWGEMM_POINTER_MODE_DEVICE ? success : invalid_value);
}

// As the page's table writes them.
TEST_F(Porting, EveryEpilogueIsServed) {
  using Change = std::function<void(bwgemmMatmulDesc_t&)>;
  const auto activation = [](bwgemmActivation_t value) {
    return Change([=](auto& desc) { desc.activation = value; });
  };
  const Change none = [](auto&) {}, bias = [](auto&desc) {
    desc.bias = made_up(0x7f0028000000), desc.biasDim = BWGEMM_DIM_M;
  };
  const auto aux = [](bwgemmAuxMode_t mode) {
    return Change([=](auto& desc) {
      desc.auxMode = mode, desc.aux = made_up(0x7f0030000000), desc.ldaux = 257;  // any length
    });
  };
  const auto gradient = [](bwgemmBiasGradient_t of) {
    return Change(
        [=](auto& desc) { desc.biasGradientOf = of, desc.biasGradient = made_up(0x7f0038000000); });
  };
  const Change relu = activation(BWGEMM_ACTIVATION_RELU),
               gelu = activation(BWGEMM_ACTIVATION_GELU_TANH),
               silu = activation(BWGEMM_ACTIVATION_SILU),
               sigmoid = activation(BWGEMM_ACTIVATION_SIGMOID),
               clamp = activation(BWGEMM_ACTIVATION_CLAMP), store = aux(BWGEMM_AUX_STORE),
               derivative = aux(BWGEMM_AUX_DERIVATIVE),
               rows = gradient(BWGEMM_BIAS_GRADIENT_D_ROWS);
  const struct {
    const char* name;
    std::vector<Change> changes;
  } epilogues[] = {{"DEFAULT", {none}},
                   {"RELU", {relu}},
                   {"RELU_AUX", {relu, store}},
                   {"BIAS", {bias}},
                   {"RELU_BIAS", {relu, bias}},
                   {"RELU_AUX_BIAS", {relu, store, bias}},
                   {"DRELU", {relu, derivative}},
                   {"DRELU_BGRAD", {relu, derivative, rows}},
                   {"GELU", {gelu}},
                   {"GELU_AUX", {gelu, store}},
                   {"GELU_BIAS", {gelu, bias}},
                   {"GELU_AUX_BIAS", {gelu, store, bias}},
                   {"DGELU", {gelu, derivative}},
                   {"DGELU_BGRAD", {gelu, derivative, rows}},
                   {"BGRADA", {gradient(BWGEMM_BIAS_GRADIENT_A)}},
                   {"BGRADB", {gradient(BWGEMM_BIAS_GRADIENT_B)}},
                   {"a bias and a bias gradient", {bias, rows}},
                   {"SWISH_EXT", {silu}},
                   {"SWISH_BIAS_EXT", {silu, bias}},
                   {"SIGMOID_EXT", {sigmoid}},
                   {"SIGMOID_BIAS_EXT", {sigmoid, bias}},
                   {"CLAMP_EXT", {clamp}},
                   {"CLAMP_BIAS_EXT", {clamp, bias}},
                   {"CLAMP_AUX_EXT", {clamp, store}},
                   {"CLAMP_AUX_BIAS_EXT", {clamp, store, bias}}};
  for (const auto& [name, changes] : epilogues)
    for (const int order : {BWGEMM_ORDER_COL, BWGEMM_ORDER_ROW}) {
      MatmulCall call;
      call.desc.Dorder = order;
      for (const Change& change : changes) change(call.desc);
      expect(success, call, name);
    }
}

// Leading dimensions, types and strides are judged, pointers are not.
TEST_F(Porting, NothingToComputeNeedsALegalDescriptionAllTheSame) {
  MatmulCall empty;
  empty.desc.m = empty.desc.n = empty.desc.k = 0;
  empty.desc.lda = empty.desc.ldb = empty.desc.ldd = 1;
  empty.desc.ldc = 0;  // of C, which is not read
  empty.alpha = empty.beta = empty.a = empty.b = empty.c = empty.d = nullptr;
  expect(success, empty, "lengths of 1");
  for (auto ld : {&bwgemmMatmulDesc_t::lda, &bwgemmMatmulDesc_t::ldb, &bwgemmMatmulDesc_t::ldd}) {
    MatmulCall short_lines = empty;
    short_lines.desc.*ld = 0;
    expect(invalid_value, short_lines, "a length of 0");
  }
  MatmulCall no_columns = empty;
  no_columns.desc.m = 256;
  EXPECT_EQ(matmul(handle(), no_columns), invalid_value)
      << "columns of 256 rows, though there are none";
}

// BWGEMM_MATMUL_DESC_INIT is of bfloat16. Types of what is not there must be known all the same,
// but need not fit.
TEST_F(Porting, TypesOfHalfPrecisionAreSetOneByOne) {
  MatmulCall call = MatmulCall::with_bias();
  call.desc.Atype = call.desc.Btype = call.desc.Ctype = call.desc.Dtype = BWGEMM_R_16F;
  expect(not_supported, call, "biasType is still BWGEMM_R_16BF");
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "biasType")) << bwgemmGetLastErrorString();
  call.desc.biasType = BWGEMM_R_16F;
  expect(success, call, "auxType is still BWGEMM_R_16BF, but there is no aux");
  call.desc.auxType = -1;  // cuBLASLt's default
  expect(invalid_value, call, "auxType is none");
}

// A struct of zeros is none.
TEST_F(Porting, ADescriptorStartsFromItsMacro) {
  MatmulCall call;
  call.desc = {};
  expect(invalid_value, call, "structSize is 0");
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "structSize")) << bwgemmGetLastErrorString();
}

// One matrix for all products, as with cuBLASLt's offset of 0; but not of what is written.
TEST_F(Porting, StridesOfZeroRepeatInputs) {
  MatmulCall call = MatmulCall::batched();
  call.beta = &MatmulCall::one;
  call.desc.strideA = call.desc.strideB = call.desc.strideC = 0;
  expect(success, call, "inputs");
  call.desc.strideD = 0;
  expect(invalid_value, call, "D");
}

TEST_F(Porting, BetaAndCMayBeLeftOut) {
  MatmulCall call;
  call.c = nullptr;
  expect(success, call, "beta is 0");
  call.beta = nullptr;
  expect(success, call, "beta is null");
  call.beta = &MatmulCall::one;
  expect(invalid_value, call, "C is null, and read");
}

}  // namespace
}  // namespace bwgemm::test
