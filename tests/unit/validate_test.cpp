// SPDX-License-Identifier: Apache-2.0
// What bwgemmMatmul's arguments become: every member has its place in the Problem, in the canonical
// form that has D in row order; and the keys of plans tell apart what plans depend on.
#include "api/validate.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/bench_command.h"
#include "core/error.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

Arguments arguments_of(const MatmulCall& call) {
  return matmul_arguments(&call.desc, call.alpha, call.a, call.b, call.beta, call.c, call.d);
}

Problem problem_of(const MatmulCall& call, bwgemmPointerMode_t mode = BWGEMM_POINTER_MODE_HOST) {
  return validated(arguments_of(call), mode);
}

// Its words.
using Key = std::vector<std::uint64_t>;

Key key_of(const MatmulCall& call, bwgemmPointerMode_t mode = BWGEMM_POINTER_MODE_HOST) {
  Arguments arguments = arguments_of(call);
  EXPECT_TRUE(keyed(arguments, mode));
  const auto begin = arguments.key.words.begin();
  return {begin, begin + static_cast<std::ptrdiff_t>(arguments.key.count)};
}

// Everything differs, so that nothing can be mistaken for something else. D in row order.
MatmulCall odd_one() {
  MatmulCall call = MatmulCall::batched();
  bwgemmMatmulDesc_t& desc = call.desc;
  desc.m = 96, desc.n = 64, desc.k = 32;
  desc.transa = BWGEMM_OP_T, desc.transb = BWGEMM_OP_N;
  desc.Aorder = BWGEMM_ORDER_ROW, desc.Border = BWGEMM_ORDER_COL;
  desc.Corder = BWGEMM_ORDER_COL, desc.Dorder = BWGEMM_ORDER_ROW;
  desc.Atype = desc.Btype = BWGEMM_R_16F;
  desc.Ctype = BWGEMM_R_32F, desc.Dtype = BWGEMM_R_16F;
  desc.lda = 100, desc.ldb = 101, desc.ldc = 102, desc.ldd = 103;
  desc.strideA = 10001, desc.strideB = 10002, desc.strideC = 10003, desc.strideD = 10004;
  desc.activation = BWGEMM_ACTIVATION_GELU_ERF;
  desc.bias = made_up(0x1000), desc.biasType = BWGEMM_R_16F, desc.strideBias = 201;
  desc.biasDim = BWGEMM_DIM_M;
  desc.rowScale = static_cast<const float*>(made_up(0x2000)), desc.strideRowScale = 202;
  desc.columnScale = static_cast<const float*>(made_up(0x3000)), desc.strideColumnScale = 203;
  desc.auxMode = BWGEMM_AUX_STORE, desc.aux = made_up(0x4000), desc.auxType = BWGEMM_R_32F;
  desc.ldaux = 104, desc.strideAux = 10005;
  desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_A, desc.biasGradientType = BWGEMM_R_16F;
  desc.biasGradient = made_up(0x5000), desc.strideBiasGradient = 204;
  call.alpha = &MatmulCall::one, call.beta = &MatmulCall::one;
  return call;
}

TEST(Validate, EveryMemberHasItsPlace) {
  const MatmulCall call = odd_one();
  const Problem problem = problem_of(call);
  EXPECT_EQ(problem.m, 96);
  EXPECT_EQ(problem.n, 64);
  EXPECT_EQ(problem.k, 32);
  EXPECT_EQ(problem.batch, 3);
  EXPECT_FALSE(problem.is_pointer_array);
  EXPECT_EQ(problem.a,
            (bwgemm::Matrix{call.a, Dtype::f16, Order::column, 100, 10001}));  // row order, T
  EXPECT_EQ(problem.b, (bwgemm::Matrix{call.b, Dtype::f16, Order::column, 101, 10002}));
  EXPECT_EQ(problem.c, (bwgemm::Matrix{call.c, Dtype::f32, Order::column, 102, 10003}));
  EXPECT_EQ(problem.d, (bwgemm::Matrix{call.d, Dtype::f16, Order::row, 103, 10004}));
  EXPECT_EQ(problem.alpha, (Scalar{1, nullptr}));
  EXPECT_EQ(problem.beta, (Scalar{1, nullptr}));
  const Epilogue& epilogue = problem.epilogue;
  EXPECT_EQ(epilogue.activation, Activation::gelu_erf);
  EXPECT_EQ(epilogue.gate, Gate::none);
  EXPECT_FALSE(epilogue.differentiates);
  EXPECT_EQ(epilogue.row_bias, (Vector{made_up(0x1000), Dtype::f16, 201}));
  EXPECT_EQ(epilogue.column_bias, Vector{});
  EXPECT_EQ(epilogue.row_scale, (Vector{made_up(0x2000), Dtype::f32, 202}));
  EXPECT_EQ(epilogue.column_scale, (Vector{made_up(0x3000), Dtype::f32, 203}));
  EXPECT_EQ(epilogue.aux, (bwgemm::Matrix{made_up(0x4000), Dtype::f32, Order::row, 104, 10005}));
  EXPECT_EQ(problem.bias_gradient,
            (BiasGradient{Summed::a, true, {made_up(0x5000), Dtype::f16, 204}}));
}

// The same product with D^T written for D: all rows become columns.
TEST(Validate, AColumnOrderDIsTheRowOrderTransposedOne) {
  const MatmulCall rows = odd_one();
  MatmulCall columns = rows;
  const bwgemmMatmulDesc_t& from = rows.desc;
  bwgemmMatmulDesc_t& desc = columns.desc;
  const auto flip = [](std::int32_t& order) { order = 1 - order; };
  std::swap(desc.m, desc.n);
  std::swap(columns.a, columns.b);
  desc.transa = from.transb, desc.transb = from.transa;
  desc.Aorder = from.Border, desc.Border = from.Aorder;
  flip(desc.Aorder), flip(desc.Border), flip(desc.Corder), flip(desc.Dorder);
  desc.lda = from.ldb, desc.ldb = from.lda;
  desc.strideA = from.strideB, desc.strideB = from.strideA;
  desc.biasDim = BWGEMM_DIM_N;
  desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_B;
  desc.rowScale = from.columnScale, desc.columnScale = from.rowScale;
  desc.strideRowScale = from.strideColumnScale, desc.strideColumnScale = from.strideRowScale;
  EXPECT_EQ(problem_of(columns), problem_of(rows));
}

TEST(Validate, ABiasRunsAlongItsDimension) {
  MatmulCall call = odd_one();
  call.desc.biasDim = BWGEMM_DIM_N;
  EXPECT_EQ(problem_of(call).epilogue.row_bias, Vector{});
  EXPECT_EQ(problem_of(call).epilogue.column_bias, (Vector{made_up(0x1000), Dtype::f16, 201}));
}

TEST(Validate, AGemmIsAMatmulWhoseDIsC) {
  MatmulCall call = MatmulCall::batched();
  call.c = call.d, call.beta = &MatmulCall::one;
  call.desc.strideC = call.desc.strideD = 65537;
  const GemmArguments gemm{BWGEMM_OP_T,
                           BWGEMM_OP_N,
                           256,
                           256,
                           256,
                           call.alpha,
                           call.a,
                           BWGEMM_R_16BF,
                           256,
                           65536,
                           call.b,
                           BWGEMM_R_16BF,
                           256,
                           65536,
                           call.beta,
                           call.d,
                           BWGEMM_R_16BF,
                           256,
                           65537,
                           3,
                           BWGEMM_COMPUTE_32F,
                           99};
  EXPECT_EQ(validated(bwgemm::arguments_of(gemm), BWGEMM_POINTER_MODE_HOST), problem_of(call));
}

TEST(Validate, WhatIsNotReadIsDropped) {
  MatmulCall call = MatmulCall::batched(1);
  call.c = made_up(1);  // misaligned, and of no leading dimension
  call.desc.ldc = 0;
  Problem problem = problem_of(call);
  EXPECT_EQ(problem.c, problem.d);
  EXPECT_EQ(problem.a.batch_stride, 0) << "of one batch";
  call.beta = nullptr;
  EXPECT_EQ(problem_of(call), problem) << "a null beta is 0";
  EXPECT_TRUE(problem_of(call, BWGEMM_POINTER_MODE_DEVICE).beta.known_zero());
  call.desc.k = 0;
  call.a = call.b = nullptr;
  problem = problem_of(call);
  EXPECT_EQ(problem.a.data, nullptr);
  call.desc.activation = BWGEMM_ACTIVATION_RELU;
  EXPECT_EQ(problem_of(call).epilogue.activation, Activation::relu) << "applied to a product of 0";
}

TEST(Validate, WhatIsAddedUpIsKept) {
  MatmulCall call = odd_one();
  call.alpha = &MatmulCall::zero;
  EXPECT_EQ(problem_of(call).a.data, call.a);
  EXPECT_EQ(problem_of(call).b.data, nullptr);
  call.desc.k = 0;
  EXPECT_EQ(problem_of(call).a.data, nullptr) << "there is nothing of it";
  EXPECT_TRUE(problem_of(call).bias_gradient.any());
  const auto sums_of = [&](bwgemmBiasGradient_t of) {
    call.desc.biasGradientOf = of;
    const BiasGradient bias_gradient = problem_of(call).bias_gradient;
    return std::pair(bias_gradient.of, bias_gradient.of_rows);
  };
  EXPECT_EQ(sums_of(BWGEMM_BIAS_GRADIENT_B), std::pair(Summed::b, false));
  EXPECT_EQ(sums_of(BWGEMM_BIAS_GRADIENT_D_ROWS), std::pair(Summed::d, true));
  EXPECT_EQ(sums_of(BWGEMM_BIAS_GRADIENT_D_COLUMNS), std::pair(Summed::d, false));
  call.desc.m = 0, call.desc.biasGradient = nullptr;
  EXPECT_FALSE(problem_of(call).bias_gradient.any());
}

TEST(Validate, NothingOfAnEmptyProblemIsLookedAt) {
  for (MatmulCall call : {MatmulCall::with_bias(), MatmulCall::with_aux(), MatmulCall::gated()}) {
    call.desc.n = 0;
    call.a = call.b = call.c = call.d = nullptr;
    call.alpha = call.beta = nullptr;
    call.desc.bias = made_up(1);
    const Problem problem = problem_of(call);
    EXPECT_TRUE(problem.empty());
    EXPECT_EQ(problem.d.data, nullptr);
    EXPECT_EQ(problem.epilogue.row_bias.data, nullptr);
    EXPECT_EQ(problem.epilogue.aux.data, nullptr);
  }
}

TEST(Validate, AGateHalvesDAlongItsContiguousDimension) {
  for (const bwgemmGate_t gate : {BWGEMM_GATE_INTERLEAVED, BWGEMM_GATE_STACKED}) {
    MatmulCall call = MatmulCall::gated(gate);
    call.desc.m = 6, call.desc.n = 7, call.desc.ldd = 3;
    EXPECT_EQ(static_cast<int>(problem_of(call).epilogue.gate), static_cast<int>(gate));
    EXPECT_EQ(problem_of(call).n, 6) << "the product's, in the canonical form";
    call.desc.ldd = 2;
    EXPECT_THROW(problem_of(call), Error);
    call.desc.Dorder = BWGEMM_ORDER_ROW;
    call.desc.ldd = 7;
    EXPECT_THROW(problem_of(call), Error) << "n is odd";
    call.desc.n = 8, call.desc.ldd = 4;
    EXPECT_EQ(problem_of(call).n, 8);
    call.desc.ldd = 3;
    EXPECT_THROW(problem_of(call), Error);
  }
}

TEST(Validate, ArraysOfPointersHaveNoStrides) {
  MatmulCall call = MatmulCall::with_arrays();
  call.a = made_up(8), call.b = made_up(16), call.d = made_up(24);
  call.desc.strideA = call.desc.strideD = -1;
  const Problem problem = problem_of(call);
  EXPECT_TRUE(problem.is_pointer_array);
  EXPECT_EQ(problem.b.data, made_up(8));
  EXPECT_EQ(problem.d.batch_stride, 0);
  call.a = made_up(12);
  EXPECT_THROW(problem_of(call), Error) << "not aligned to a pointer";
}

TEST(BenchCommand, SaysInACommentWhatTheBenchCannot) {
  const auto comment = [](const MatmulCall& call) {
    const std::string command = bench_command(problem_of(call));
    const std::size_t at = command.find("  # with ");
    return at == std::string::npos ? "" : command.substr(at + 9);
  };
  EXPECT_EQ(comment({}), "");
  EXPECT_EQ(comment(odd_one()),
            "C f32 column ld 102 apart from D, scale f32 for each row, scale f32 for each column, "
            "bias f16 for each row, aux f32 ld 104 written, gelu_erf, sums f16 of rows of A");
  EXPECT_EQ(comment(MatmulCall::gated()), "silu, interleaved gate");
  EXPECT_EQ(comment(MatmulCall::with_arrays()), "arrays of pointers");
  EXPECT_EQ(comment(MatmulCall::with_aux(BWGEMM_AUX_DERIVATIVE)),
            "aux bf16 ld 256 read, derivative of relu");
}

TEST(Validate, BoundsBelongToClamp) {
  MatmulCall call;
  call.desc.clampLow = 0, call.desc.clampHigh = 6;
  EXPECT_EQ(problem_of(call).epilogue.clamp, Bounds{}) << "not looked at";
  call.desc.activation = BWGEMM_ACTIVATION_CLAMP;
  const Epilogue epilogue = problem_of(call).epilogue;
  EXPECT_EQ(epilogue.activation, Activation::clamp);
  EXPECT_EQ(epilogue.clamp, (Bounds{0, 6}));
}

// The enumerators of the C API count as those of the core do.
TEST(Validate, EachActivationHasItsName) {
  const std::pair<bwgemmActivation_t, std::string_view> all[] = {
      {BWGEMM_ACTIVATION_NONE, "none"},           {BWGEMM_ACTIVATION_RELU, "relu"},
      {BWGEMM_ACTIVATION_GELU_TANH, "gelu_tanh"}, {BWGEMM_ACTIVATION_GELU_ERF, "gelu_erf"},
      {BWGEMM_ACTIVATION_SILU, "silu"},           {BWGEMM_ACTIVATION_SIGMOID, "sigmoid"},
      {BWGEMM_ACTIVATION_CLAMP, "clamp"}};
  for (const auto& [activation, word] : all) {
    MatmulCall call;
    call.desc.activation = activation;
    EXPECT_EQ(name(problem_of(call).epilogue.activation), word);
  }
  EXPECT_EQ(std::size(all), static_cast<std::size_t>(last_activation) + 1);
}

struct Change {
  const char* name;
  std::function<void(MatmulCall&)> make;
};

// Of every member and argument, to another legal value or another alignment.
std::vector<Change> changes() {
  return {
      {"computeType", [](auto& c) { c.desc.computeType = 70; }},
      {"transa", [](auto& c) { c.desc.transa = BWGEMM_OP_N; }},
      {"transb", [](auto& c) { c.desc.transb = BWGEMM_OP_C; }},
      {"m", [](auto& c) { c.desc.m = 95; }},
      {"n", [](auto& c) { c.desc.n = 63; }},
      {"k", [](auto& c) { c.desc.k = 31; }},
      {"Atype", [](auto& c) { c.desc.Atype = BWGEMM_R_16BF; }},
      {"Btype", [](auto& c) { c.desc.Btype = BWGEMM_R_16BF; }},
      {"Ctype", [](auto& c) { c.desc.Ctype = BWGEMM_R_16F; }},
      {"Dtype", [](auto& c) { c.desc.Dtype = BWGEMM_R_32F; }},
      {"Aorder", [](auto& c) { c.desc.Aorder ^= 1; }},
      {"Border", [](auto& c) { c.desc.Border ^= 1; }},
      {"Corder", [](auto& c) { c.desc.Corder ^= 1; }},
      {"Dorder", [](auto& c) { c.desc.Dorder ^= 1; }},
      {"lda", [](auto& c) { ++c.desc.lda; }},
      {"ldb", [](auto& c) { ++c.desc.ldb; }},
      {"ldc", [](auto& c) { ++c.desc.ldc; }},
      {"ldd", [](auto& c) { ++c.desc.ldd; }},
      {"batchCount", [](auto& c) { ++c.desc.batchCount; }},
      {"strideA", [](auto& c) { ++c.desc.strideA; }},
      {"strideB", [](auto& c) { ++c.desc.strideB; }},
      {"strideC", [](auto& c) { ++c.desc.strideC; }},
      {"strideD", [](auto& c) { ++c.desc.strideD; }},
      {"batchMode", [](auto& c) { c.desc.batchMode = BWGEMM_BATCH_MODE_POINTER_ARRAY; }},
      {"activation", [](auto& c) { c.desc.activation = BWGEMM_ACTIVATION_SILU; }},
      {"gate", [](auto& c) { c.desc.gate = BWGEMM_GATE_STACKED; }},
      {"biasDim", [](auto& c) { c.desc.biasDim = BWGEMM_DIM_N; }},
      {"biasType", [](auto& c) { c.desc.biasType = BWGEMM_R_32F; }},
      {"auxMode", [](auto& c) { c.desc.auxMode = BWGEMM_AUX_DERIVATIVE; }},
      {"auxType", [](auto& c) { c.desc.auxType = BWGEMM_R_16F; }},
      {"bias", [](auto& c) { c.desc.bias = made_up(0x1012); }},
      {"no bias", [](auto& c) { c.desc.bias = nullptr; }},
      {"strideBias", [](auto& c) { ++c.desc.strideBias; }},
      {"no rowScale", [](auto& c) { c.desc.rowScale = nullptr; }},
      {"strideRowScale", [](auto& c) { ++c.desc.strideRowScale; }},
      {"no columnScale", [](auto& c) { c.desc.columnScale = nullptr; }},
      {"strideColumnScale", [](auto& c) { ++c.desc.strideColumnScale; }},
      {"aux", [](auto& c) { c.desc.aux = made_up(0x4010); }},
      {"no aux", [](auto& c) { c.desc.aux = nullptr; }},
      {"ldaux", [](auto& c) { ++c.desc.ldaux; }},
      {"strideAux", [](auto& c) { ++c.desc.strideAux; }},
      {"biasGradientOf", [](auto& c) { c.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_D_ROWS; }},
      {"biasGradientType", [](auto& c) { c.desc.biasGradientType = BWGEMM_R_32F; }},
      {"biasGradient", [](auto& c) { c.desc.biasGradient = made_up(0x5012); }},
      {"no biasGradient", [](auto& c) { c.desc.biasGradient = nullptr; }},
      {"strideBiasGradient", [](auto& c) { ++c.desc.strideBiasGradient; }},
      {"clampLow", [](auto& c) { c.desc.clampLow = -1; }},
      {"clampHigh", [](auto& c) { c.desc.clampHigh = 0; }},
      {"algo", [](auto& c) { c.desc.algo = 7; }},
      {"workspace", [](auto& c) { c.desc.workspace = made_up(0x10000); }},
      {"workspaceSize", [](auto& c) { c.desc.workspaceSize = 4096; }},
      {"A", [](auto& c) { c.a = made_up(0x7f0000000010); }},
      {"B", [](auto& c) { c.b = made_up(0x7f0000000010); }},
      {"C", [](auto& c) { c.c = made_up(0x7f0000000010); }},
      {"C that is D", [](auto& c) { c.c = c.d; }},
      {"D", [](auto& c) { c.d = made_up(0x7f0000000010); }},
      {"alpha of 0", [](auto& c) { c.alpha = &MatmulCall::zero; }},
      {"beta of 0", [](auto& c) { c.beta = &MatmulCall::zero; }},
  };
}

TEST(CallKeys, TellApartEveryMember) {
  std::set<Key> seen{key_of(odd_one())};
  for (const Change& change : changes()) {
    MatmulCall call = odd_one();
    change.make(call);
    EXPECT_TRUE(seen.insert(key_of(call)).second)
        << change.name << " is not in the key, or has the place of another";
  }
  EXPECT_TRUE(seen.insert(key_of(odd_one(), BWGEMM_POINTER_MODE_DEVICE)).second);
}

// Each word of the struct is in the key, also those that a later version appends.
TEST(CallKeys, HoldTheWholeStruct) {
  const MatmulCall call = odd_one();
  const Key key = key_of(call);
  for (std::size_t byte = offsetof(bwgemmMatmulDesc_t, computeType); byte < sizeof call.desc;
       ++byte) {
    MatmulCall other = call;
    reinterpret_cast<unsigned char*>(&other.desc)[byte] ^= 1;
    // Of an address only its alignment is.
    const std::size_t word = byte / 8 * 8;
    const bool is_address = byte != word && (word == offsetof(bwgemmMatmulDesc_t, bias) ||
                                             word == offsetof(bwgemmMatmulDesc_t, rowScale) ||
                                             word == offsetof(bwgemmMatmulDesc_t, columnScale) ||
                                             word == offsetof(bwgemmMatmulDesc_t, aux) ||
                                             word == offsetof(bwgemmMatmulDesc_t, biasGradient) ||
                                             word == offsetof(bwgemmMatmulDesc_t, workspace));
    if (!is_address) {
      EXPECT_NE(key_of(other), key) << "byte " << byte;
    }
  }
}

TEST(CallKeys, AreTheSameForOtherAddressesAndScalars) {
  const Key key = key_of(odd_one());
  MatmulCall call = odd_one();
  const float two = 2;
  call.alpha = call.beta = &two;
  call.a = made_up(0x7f1100000000), call.b = made_up(0x7f1200000000);
  call.c = made_up(0x7f1300000000), call.d = made_up(0x7f1400000000);
  call.desc.bias = made_up(0x7f1500000000), call.desc.aux = made_up(0x7f1600000000);
  call.desc.biasGradient = made_up(0x7f1700000000);
  EXPECT_EQ(key_of(call), key);
}

// What a call does not set is no part of its key, and the struct that it stands for is whole.
TEST(CallKeys, OfPlainProductsAreShort) {
  const MatmulCall plain;
  const std::size_t words = key_of(plain).size();
  EXPECT_EQ(words, 20u);
  for (const MatmulCall& call : {MatmulCall::with_bias(), MatmulCall::with_gradient()})
    EXPECT_GT(key_of(call).size(), words);
  MatmulCall with_workspace;
  with_workspace.desc.workspaceSize = 1;
  EXPECT_EQ(key_of(with_workspace).size(), words + 3);
  for (const MatmulCall& call : {plain, MatmulCall::with_gradient(), with_workspace, odd_one()}) {
    const bwgemmMatmulDesc_t desc = desc_of(arguments_of(call));
    EXPECT_EQ(std::memcmp(&desc, &call.desc, sizeof desc), 0);
  }
}

// Nothing of such a call is lost in the short form, and each parameter has a place of its own.
TEST(CallKeys, OfCallsThatCublasHasTooAreShorter) {
  const MatmulCall call;
  const GemmArguments one{BWGEMM_OP_T,
                          BWGEMM_OP_N,
                          96,
                          64,
                          32,
                          call.alpha,
                          call.a,
                          BWGEMM_R_16BF,
                          100,
                          0,
                          call.b,
                          BWGEMM_R_16F,
                          101,
                          0,
                          &MatmulCall::one,
                          call.d,
                          BWGEMM_R_32F,
                          102,
                          0,
                          1,
                          BWGEMM_COMPUTE_32F,
                          -1};
  std::set<Key> seen;
  const auto expect_new = [&](std::size_t words, const auto& change) {
    GemmArguments gemm = one;
    change(gemm);
    Arguments arguments = bwgemm::arguments_of(gemm);
    EXPECT_TRUE(keyed(arguments, BWGEMM_POINTER_MODE_HOST));
    const auto begin = arguments.key.words.begin();
    EXPECT_EQ(arguments.key.count, words);
    EXPECT_TRUE(seen.insert({begin, begin + static_cast<std::ptrdiff_t>(words)}).second);
    const bwgemmMatmulDesc_t desc = desc_of(arguments);
    EXPECT_EQ(std::tie(desc.transa, desc.transb, desc.Atype, desc.Btype, desc.computeType),
              std::tie(gemm.transa, gemm.transb, gemm.a_type, gemm.b_type, gemm.compute_type));
    EXPECT_EQ(
        std::tie(desc.m, desc.n, desc.k, desc.lda, desc.ldb, desc.batchCount, desc.batchMode),
        std::tie(gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb, gemm.batch_count, gemm.batch_mode));
    for (const auto& [type, ld, stride] : {std::tie(desc.Ctype, desc.ldc, desc.strideC),
                                           std::tie(desc.Dtype, desc.ldd, desc.strideD)})
      EXPECT_EQ(std::tie(type, ld, stride), std::tie(gemm.c_type, gemm.ldc, gemm.stride_c));
    EXPECT_EQ(std::tie(desc.strideA, desc.strideB, desc.algo),
              std::make_tuple(gemm.stride_a, gemm.stride_b, std::int64_t{gemm.algo}));
  };
  expect_new(10, [](auto&) {});
  expect_new(10, [](auto& g) { g.transa = BWGEMM_OP_C; });
  expect_new(10, [](auto& g) { g.transb = BWGEMM_OP_T; });
  expect_new(10, [](auto& g) { ++g.m; });
  expect_new(10, [](auto& g) { ++g.n; });
  expect_new(10, [](auto& g) { ++g.k; });
  expect_new(10, [](auto& g) { g.a_type = BWGEMM_R_8F_E4M3; });
  expect_new(10, [](auto& g) { g.b_type = BWGEMM_R_8F_E4M3; });
  expect_new(10, [](auto& g) { g.c_type = BWGEMM_R_8F_E4M3; });
  expect_new(10, [](auto& g) { ++g.lda; });
  expect_new(10, [](auto& g) { ++g.ldb; });
  expect_new(10, [](auto& g) { ++g.ldc; });
  expect_new(10, [](auto& g) { g.compute_type = static_cast<bwgemmComputeType_t>(64); });
  expect_new(10, [](auto& g) { g.algo = 99; });
  expect_new(15, [](auto& g) { g.stride_a = 1; });
  expect_new(15, [](auto& g) { g.stride_b = 1; });
  expect_new(15, [](auto& g) { g.stride_c = 1; });
  expect_new(15, [](auto& g) { g.batch_count = 2; });
  expect_new(15, [](auto& g) { g.batch_mode = BWGEMM_BATCH_MODE_POINTER_ARRAY; });
}

// Maps of unaligned operands depend on where in 16 bytes they start.
TEST(CallKeys, TellApartPlacesOfUnalignedOperands) {
  std::set<Key> seen;
  for (std::uintptr_t place = 0; place < 16; ++place) {
    MatmulCall call;
    call.a = made_up(0x7f0000000000 + place);
    EXPECT_TRUE(seen.insert(key_of(call)).second) << place;
    call.a = made_up(0x7f0000100000 + place);
    EXPECT_FALSE(seen.insert(key_of(call)).second) << place;
  }
}

TEST(CallKeys, NoneForWhatLaunchesNothingOrLacksAlpha) {
  const auto has_key = [](const MatmulCall& call) {
    Arguments arguments = arguments_of(call);
    return keyed(arguments, BWGEMM_POINTER_MODE_HOST);
  };
  MatmulCall call;
  EXPECT_TRUE(has_key(call));
  call.alpha = nullptr;
  EXPECT_FALSE(has_key(call));
  call = {};
  call.desc.m = 0;
  EXPECT_FALSE(has_key(call));
}

}  // namespace
}  // namespace bwgemm::test
