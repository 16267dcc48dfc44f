// SPDX-License-Identifier: Apache-2.0
// Every member of bwgemmMatmulDesc_t, wrong in every way: the documented status, a message that
// names the member and its value, nothing launched and nothing written. And structs of other
// versions.
#include <cmath>
#include <cstddef>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr bwgemmStatus_t invalid = BWGEMM_STATUS_INVALID_VALUE;
constexpr bwgemmStatus_t unsupported = BWGEMM_STATUS_NOT_SUPPORTED;

struct BadMember {
  const char* name;
  std::string value;  // as the message must show it; empty: any
  bwgemmStatus_t status;
  MatmulCall call;
};

class Table {
 public:
  // Of a legal call, changed.
  void add(const char* name, std::string value, bwgemmStatus_t status, MatmulCall call,
           const std::function<void(MatmulCall&)>& spoil) {
    spoil(call);
    rows_.push_back({name, std::move(value), status, call});
  }
  void add_each(const char* name, std::int32_t bwgemmMatmulDesc_t::*member,
                std::initializer_list<std::int32_t> values, bwgemmStatus_t status = invalid,
                const MatmulCall& call = {}) {
    for (const std::int32_t value : values)
      add(name, std::to_string(value), status, call, [&](auto& c) { c.desc.*member = value; });
  }
  void add_each(const char* name, std::int64_t bwgemmMatmulDesc_t::*member,
                std::initializer_list<std::int64_t> values, const MatmulCall& call = {}) {
    for (const std::int64_t value : values)
      add(name, std::to_string(value), invalid, call, [&](auto& c) { c.desc.*member = value; });
  }
  const std::vector<BadMember>& rows() const { return rows_; }

 private:
  std::vector<BadMember> rows_;
};

MatmulCall with_beta(MatmulCall call) {
  call.beta = &MatmulCall::one;
  return call;
}

void add_product(Table& table) {
  using Desc = bwgemmMatmulDesc_t;
  table.add_each("computeType", &Desc::computeType, {0, -1, 63, 9999});
  table.add_each("computeType", &Desc::computeType, {64, 70, 72}, unsupported);
  for (auto [name, member] : {std::pair{"transa", &Desc::transa}, {"transb", &Desc::transb}})
    table.add_each(name, member, {-1, 3, 0x7fffffff});
  for (auto [name, member] : {std::pair{"m", &Desc::m}, {"n", &Desc::n}, {"k", &Desc::k}})
    table.add_each(name, member, {-1, least});
  table.add_each("batchCount", &Desc::batchCount, {-1, least});
  table.add("batchCount", std::to_string(most), unsupported, MatmulCall::with_arrays(),
            [](auto& c) { c.desc.batchCount = most; });
  table.add_each("batchMode", &Desc::batchMode, {-1, 2, 0x7fffffff});
  for (auto [name, member] : {std::pair{"Aorder", &Desc::Aorder},
                              {"Border", &Desc::Border},
                              {"Corder", &Desc::Corder},
                              {"Dorder", &Desc::Dorder}})
    table.add_each(name, member, {-1, 2, 0x7fffffff});
  for (auto [name, member] : {std::pair{"Atype", &Desc::Atype},
                              {"Btype", &Desc::Btype},
                              {"Ctype", &Desc::Ctype},
                              {"Dtype", &Desc::Dtype}})
    table.add_each(name, member, {1, 13, 30, -1});
  for (const int type : {BWGEMM_R_32F, BWGEMM_R_8F_E4M3})
    table.add("Atype", "", unsupported, {}, [&](auto& c) { c.desc.Atype = type; });
  for (const int type : {BWGEMM_R_16F, BWGEMM_R_8F_E5M2})
    table.add("Btype", "", unsupported, {}, [&](auto& c) { c.desc.Btype = type; });
  for (auto [name, member] : {std::pair{"Ctype", &Desc::Ctype}, {"Dtype", &Desc::Dtype}})
    for (const int type : {BWGEMM_R_16F, BWGEMM_R_8F_E4M3})
      table.add(name, "", unsupported, with_beta({}), [&](auto& c) { c.desc.*member = type; });
  table.add_each("algo", &Desc::algo, {-2, least});
  table.add("workspace", "", invalid, {}, [](auto& c) { c.desc.workspace = made_up(128); });
  table.add_each("reserved", &Desc::reserved, {1, -1});
}

void add_matrices(Table& table) {
  using Desc = bwgemmMatmulDesc_t;
  const MatmulCall call = with_beta({}), batched = with_beta(MatmulCall::batched());
  for (auto [name, member] : {std::pair{"lda", &Desc::lda},
                              {"ldb", &Desc::ldb},
                              {"ldc", &Desc::ldc},
                              {"ldd", &Desc::ldd}})
    table.add_each(name, member, {255, 0, -1, least, most}, call);
  for (auto [name, member] : {std::pair{"strideA", &Desc::strideA},
                              {"strideB", &Desc::strideB},
                              {"strideC", &Desc::strideC},
                              {"strideD", &Desc::strideD}})
    table.add_each(name, member, {-1, least, most}, batched);
  table.add_each("strideD", &Desc::strideD, {0, 1, 255, 300}, batched);
  // What a leading dimension must cover depends on the order.
  table.add("lda", "255", invalid, call, [](auto& c) {
    c.desc.Aorder = BWGEMM_ORDER_ROW, c.desc.transa = BWGEMM_OP_N;
    c.desc.m = 8, c.desc.lda = 255;
  });
  table.add("ldd", "99", invalid, call, [](auto& c) {
    c.desc.Dorder = c.desc.Corder = BWGEMM_ORDER_ROW;
    c.desc.m = 8, c.desc.n = 100, c.desc.ldc = 100, c.desc.ldd = 99;
  });
  table.add("A", "null", invalid, call, [](auto& c) { c.a = nullptr; });
  table.add("B", "null", invalid, call, [](auto& c) { c.b = nullptr; });
  table.add("C", "null", invalid, call, [](auto& c) { c.c = nullptr; });
  table.add("D", "null", invalid, call, [](auto& c) { c.d = nullptr; });
  table.add("alpha", "null", invalid, call, [](auto& c) { c.alpha = nullptr; });
  table.add("A", "address", invalid, call, [](auto& c) { c.a = made_up(0x1001); });
  table.add("B", "address", invalid, call, [](auto& c) { c.b = made_up(0x1001); });
  table.add("C", "address", invalid, call, [](auto& c) { c.c = made_up(0x1001); });
  table.add("D", "address", invalid, call, [](auto& c) { c.d = made_up(0x1001); });
  const auto add_of_array = [&](const char* name, const std::function<void(MatmulCall&)>& spoil) {
    table.add(name, "address", invalid, with_beta(MatmulCall::with_arrays()), spoil);
  };
  add_of_array("A", [](auto& c) { c.a = made_up(0x1004); });
  add_of_array("B", [](auto& c) { c.b = made_up(0x1004); });
  add_of_array("C", [](auto& c) { c.c = made_up(0x1004); });
  add_of_array("D", [](auto& c) { c.d = made_up(0x1004); });
  // D that is C must be it in every way.
  const auto add_as_c = [&](const char* name, const std::function<void(MatmulCall&)>& spoil) {
    table.add(name, "", invalid, batched, [&](auto& c) { c.c = c.d, spoil(c); });
  };
  add_as_c("Ctype", [](auto& c) { c.desc.Ctype = BWGEMM_R_32F; });
  add_as_c("Corder", [](auto& c) { c.desc.Corder = BWGEMM_ORDER_ROW; });
  add_as_c("ldc", [](auto& c) { c.desc.ldc = 257; });
  add_as_c("strideC", [](auto& c) { c.desc.strideC = 65537; });
}

void add_epilogue(Table& table) {
  using Desc = bwgemmMatmulDesc_t;
  table.add_each("activation", &Desc::activation, {-1, 7, 0x7fffffff});
  table.add_each("gate", &Desc::gate, {-1, 3, 0x7fffffff});
  table.add_each("biasDim", &Desc::biasDim, {-1, 2});
  table.add_each("biasType", &Desc::biasType, {1, 13, -1}, invalid, MatmulCall::with_bias());
  table.add_each("biasType", &Desc::biasType, {13, -1});
  table.add("biasType", "", unsupported, MatmulCall::with_bias(),
            [](auto& c) { c.desc.biasType = BWGEMM_R_16F; });
  table.add("bias", "address", invalid, {}, [](auto& c) { c.desc.bias = made_up(0x1001); });
  table.add_each("strideBias", &Desc::strideBias, {-1, least}, MatmulCall::with_bias());
  table.add("strideBias", std::to_string(most), invalid, MatmulCall::batched(),
            [](auto& c) { c.desc.bias = made_up(0x1000), c.desc.strideBias = most; });
  const auto vector = [](std::uintptr_t address) {
    return static_cast<const float*>(made_up(address));
  };
  table.add("rowScale", "address", invalid, {}, [&](auto& c) { c.desc.rowScale = vector(0x1002); });
  table.add("columnScale", "address", invalid, {},
            [&](auto& c) { c.desc.columnScale = vector(0x1002); });
  table.add_each("strideRowScale", &Desc::strideRowScale, {-1, least});
  table.add_each("strideColumnScale", &Desc::strideColumnScale, {-1, least});

  const MatmulCall aux = MatmulCall::with_aux();
  table.add_each("auxMode", &Desc::auxMode, {-1, 3, 0x7fffffff}, invalid, aux);
  table.add("aux", "address", invalid, aux, [](auto& c) { c.desc.auxMode = BWGEMM_AUX_NONE; });
  table.add("aux", "null", invalid, aux, [](auto& c) { c.desc.aux = nullptr; });
  table.add("aux", "address", invalid, aux, [](auto& c) { c.desc.aux = made_up(0x1001); });
  table.add_each("auxType", &Desc::auxType, {1, 13, -1}, invalid, aux);
  table.add("auxType", "", unsupported, aux, [](auto& c) { c.desc.auxType = BWGEMM_R_16F; });
  table.add_each("ldaux", &Desc::ldaux, {255, 0, -1, most}, aux);
  table.add_each("strideAux", &Desc::strideAux, {-1, least}, aux);
  table.add("strideAux", "0", invalid, MatmulCall::batched(), [&](auto& c) {
    c.desc.auxMode = BWGEMM_AUX_STORE, c.desc.aux = aux.desc.aux;
    c.desc.ldaux = 256, c.desc.strideAux = 0;
  });
  table.add("activation", "0", invalid, MatmulCall::with_aux(BWGEMM_AUX_DERIVATIVE),
            [](auto& c) { c.desc.activation = BWGEMM_ACTIVATION_NONE; });

  MatmulCall clamp;
  clamp.desc.activation = BWGEMM_ACTIVATION_CLAMP;
  clamp.desc.clampLow = -1, clamp.desc.clampHigh = 6;
  table.add("clampLow", "7", invalid, clamp, [](auto& c) { c.desc.clampLow = 7; });
  table.add("clampLow", "nan", invalid, clamp, [](auto& c) { c.desc.clampLow = NAN; });
  table.add("clampHigh", "nan", invalid, clamp, [](auto& c) { c.desc.clampHigh = NAN; });
  table.add("clampLow", "inf", invalid, clamp, [](auto& c) { c.desc.clampLow = INFINITY; });

  const MatmulCall sums = MatmulCall::with_gradient();
  table.add_each("biasGradientOf", &Desc::biasGradientOf, {-1, 5, 0x7fffffff}, invalid, sums);
  table.add("biasGradient", "address", invalid, sums,
            [](auto& c) { c.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_NONE; });
  table.add("biasGradient", "null", invalid, sums, [](auto& c) { c.desc.biasGradient = nullptr; });
  table.add("biasGradient", "address", invalid, sums,
            [](auto& c) { c.desc.biasGradient = made_up(0x1002); });
  table.add_each("biasGradientType", &Desc::biasGradientType, {1, 13, -1}, invalid, sums);
  table.add_each("biasGradientType", &Desc::biasGradientType, {13, -1});
  table.add("biasGradientType", "", unsupported, sums,
            [](auto& c) { c.desc.biasGradientType = BWGEMM_R_16F; });
  MatmulCall of_batches = MatmulCall::batched();
  of_batches.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_B;
  of_batches.desc.biasGradient = sums.desc.biasGradient;
  table.add_each("strideBiasGradient", &Desc::strideBiasGradient, {0, 1, 255, -1, least, most},
                 of_batches);
  // What is added up is read even where it is not multiplied.
  for (const auto of : {BWGEMM_BIAS_GRADIENT_A, BWGEMM_BIAS_GRADIENT_B}) {
    MatmulCall zero = MatmulCall::with_gradient(of);
    zero.alpha = &MatmulCall::zero;
    const bool is_a = of == BWGEMM_BIAS_GRADIENT_A;
    table.add(is_a ? "A" : "B", "null", invalid, zero,
              [&](auto& c) { (is_a ? c.a : c.b) = nullptr; });
  }

  const MatmulCall gated = MatmulCall::gated();
  table.add("m", "255", invalid, gated, [](auto& c) { c.desc.m = 255; });
  table.add("n", "255", invalid, gated,
            [](auto& c) { c.desc.Dorder = BWGEMM_ORDER_ROW, c.desc.n = 255; });
  table.add("ldd", "127", invalid, gated, [](auto& c) { c.desc.ldd = 127; });
  table.add("beta", "", unsupported, gated, [](auto& c) { c.beta = &MatmulCall::one; });
  table.add("auxMode", "2", unsupported, MatmulCall::with_aux(BWGEMM_AUX_DERIVATIVE),
            [](auto& c) { c.desc.gate = BWGEMM_GATE_STACKED; });
}

std::vector<BadMember> bad_members() {
  Table table;
  add_product(table);
  add_matrices(table);
  add_epilogue(table);
  return table.rows();
}

struct Entry {
  const char* name;
  std::function<bwgemmStatus_t(bwgemmHandle_t, const MatmulCall&)> call;
};

class BadMembers : public FakeHandleTest {
 protected:
  static constexpr char untouched[] = "untouched";

  std::vector<Entry> entries() {
    return {{"bwgemmMatmul", matmul},
            {"bwgemmMatmulGetWorkspaceSize",
             [&](bwgemmHandle_t handle, const MatmulCall& call) {
               return workspace_size(handle, call, &size_);
             }},
            {"bwgemmMatmulExplain", [&](bwgemmHandle_t handle, const MatmulCall& call) {
               return explain(handle, call, text_, sizeof text_);
             }}};
  }

  void expect_nothing_happened(const std::string& what) {
    EXPECT_EQ(fake_cuda().launches(), 0) << what;
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0) << what;
    EXPECT_EQ(fake_cuda().calls("cuLibraryLoadData"), 0) << what;
    EXPECT_EQ(size_, 4711u) << what << ": the size was written";
    EXPECT_STREQ(text_, untouched) << what << ": the text was written";
  }

  std::size_t size_ = 4711;
  char text_[4096] = "untouched";
};

TEST_F(BadMembers, Table) {
  for (const Entry& entry : entries())
    for (const BadMember& bad : bad_members()) {
      const std::string what = std::string(entry.name) + " with " + bad.name + " " + bad.value;
      EXPECT_EQ(entry.call(handle(), bad.call), bad.status)
          << what << ": " << bwgemmGetLastErrorString();
      const std::string text = bwgemmGetLastErrorString();
      EXPECT_THAT(text, ::testing::HasSubstr(entry.name)) << what;
      EXPECT_TRUE(mentions(text, bad.name)) << what << " is not named: " << text;
      EXPECT_THAT(text, ::testing::HasSubstr(bad.value)) << what;
      EXPECT_GT(text.size(), std::string(entry.name).size() + 20)
          << "the rule is missing: " << text;
      expect_nothing_happened(what);
    }
}

TEST_F(BadMembers, AWrongHandleIsNamedFirst) {
  for (const Entry& entry : entries()) {
    if (std::string(entry.name) == "bwgemmMatmulExplain") continue;  // needs none
    EXPECT_EQ(entry.call(nullptr, {}), BWGEMM_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(entry.call(static_cast<bwgemmHandle_t>(made_up(0x1000)), {}),
              BWGEMM_STATUS_NOT_INITIALIZED);
  }
}

TEST_F(BadMembers, NoStruct) {
  const float one = 1;
  EXPECT_EQ(bwgemmMatmul(handle(), nullptr, &one, nullptr, nullptr, &one, nullptr, nullptr),
            invalid);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "desc")) << bwgemmGetLastErrorString();
}

// A struct of a later version: longer, with members that mean nothing where they are zero.
struct LaterCall {
  bwgemmMatmulDesc_t desc;
  unsigned char more[4096];
};

TEST_F(BadMembers, StructsOfOtherVersions) {
  const MatmulCall call;
  const auto status = [&](const LaterCall& later) {
    return bwgemmMatmul(handle(), &later.desc, call.alpha, call.a, call.b, call.beta, call.c,
                        call.d);
  };
  LaterCall later{call.desc, {}};
  for (const unsigned size :
       {0u, 1u, 8u, 288u, 295u, 297u, 300u, unsigned{sizeof call.desc} - 1, 4097u, 0xffffffffu}) {
    later.desc.structSize = size;
    EXPECT_EQ(status(later), invalid) << size;
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "structSize")) << bwgemmGetLastErrorString();
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), std::to_string(size)));
    const std::string rule = "272 or 296 or " + std::to_string(sizeof call.desc) + " to 4096";
    EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr(rule));
  }
  for (std::size_t size = sizeof call.desc; size <= 4096; size += 8) {
    later.desc.structSize = static_cast<std::uint32_t>(size);
    EXPECT_EQ(status(later), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  }
  later.desc.activation = BWGEMM_ACTIVATION_CLAMP;
  later.desc.clampLow = NAN;  // of no older struct: the bounds are then as INIT has them
  for (const unsigned size : {272u, 296u}) {
    later.desc.structSize = size;
    EXPECT_EQ(status(later), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  }
  later.desc = call.desc;
  later.desc.structSize = 4096;
  for (std::size_t byte = 0; byte < 4096 - sizeof call.desc; byte += byte < 128 ? 1 : 97) {
    later.more[byte] = 1;
    EXPECT_EQ(status(later), unsupported) << byte;
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "structSize")) << bwgemmGetLastErrorString();
    later.desc.structSize = static_cast<std::uint32_t>(sizeof call.desc + byte);
    EXPECT_EQ(status(later), BWGEMM_STATUS_SUCCESS) << "what is behind it is not looked at";
    later.desc.structSize = 4096;
    later.more[byte] = 0;
  }
}

TEST_F(BadMembers, LegalOnesAreAccepted) {
  MatmulCall no_c;
  no_c.c = nullptr, no_c.beta = nullptr, no_c.desc.ldc = 0;
  MatmulCall in_place = MatmulCall::batched();
  in_place.c = in_place.d, in_place.beta = &MatmulCall::one;
  MatmulCall own_workspace;
  own_workspace.desc.workspace = made_up(0x7f0040000000);
  own_workspace.desc.workspaceSize = 1 << 20;
  MatmulCall unread = MatmulCall::with_gradient(BWGEMM_BIAS_GRADIENT_A);
  unread.alpha = &MatmulCall::zero, unread.b = nullptr;
  MatmulCall no_terms = MatmulCall::with_gradient(BWGEMM_BIAS_GRADIENT_A);
  no_terms.desc.k = 0, no_terms.a = no_terms.b = nullptr;
  MatmulCall clamp;
  clamp.desc.activation = BWGEMM_ACTIVATION_CLAMP;
  clamp.desc.clampLow = -INFINITY, clamp.desc.clampHigh = INFINITY;
  MatmulCall unread_bounds;
  unread_bounds.desc.clampLow = NAN, unread_bounds.desc.clampHigh = -1;
  for (const MatmulCall& call :
       {clamp, unread_bounds, MatmulCall{}, MatmulCall::batched(), no_c, in_place, own_workspace,
        unread, no_terms, MatmulCall::with_gradient()})
    for (const Entry& entry : entries())
      EXPECT_EQ(entry.call(handle(), call), BWGEMM_STATUS_SUCCESS)
          << entry.name << ": " << bwgemmGetLastErrorString();
}

TEST_F(BadMembers, EmptyProductsLookAtNoPointer) {
  for (MatmulCall call :
       {MatmulCall{}, MatmulCall::with_bias(), MatmulCall::with_aux(), MatmulCall::gated(),
        MatmulCall::with_arrays(), MatmulCall::with_gradient()})
    for (std::int64_t bwgemmMatmulDesc_t::*size :
         {&bwgemmMatmulDesc_t::m, &bwgemmMatmulDesc_t::n, &bwgemmMatmulDesc_t::batchCount}) {
      MatmulCall empty = call;
      empty.desc.*size = 0;
      empty.alpha = empty.beta = empty.a = empty.b = empty.c = nullptr;
      empty.d = empty.desc.biasGradient = nullptr;
      EXPECT_EQ(matmul(handle(), empty), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      EXPECT_EQ(fake_cuda().launches(), 0);
    }
}

// There beta is not known to the host: a gate needs to be told that there is no C.
TEST_F(BadMembers, AGateInDevicePointerModeTakesNoBeta) {
  ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  MatmulCall call = MatmulCall::gated();
  call.alpha = made_up(0x7f0050000000), call.beta = made_up(0x7f0050000004);
  EXPECT_EQ(matmul(handle(), call), unsupported);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "beta")) << bwgemmGetLastErrorString();
}

}  // namespace
}  // namespace bwgemm::test
