// SPDX-License-Identifier: Apache-2.0
// Calls of bwgemmMatmul over the test double whose workspace has room for copies of some rows or
// columns only, and the calls that their parts are.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/algo_list.h"
#include "support/fake_cuda.h"
#include "support/matmul_call.h"

namespace bwgemm::test {

// What keeps TMA from loading the operand: lines that are no multiple of 16 bytes apart.
enum class Loose { a, b, both };

// Products of `extent` rows and columns in three parts, the last of which is shorter.
struct DividedCall {
  static constexpr std::int64_t extent = 1304, k = 1033, lines = 512, parts = 3;
  static constexpr std::size_t workspace_size = 2 * lines * 1088;  // of lines along k, with pitch
  static constexpr std::uintptr_t workspace = 0x7f0060000000;

  static MatmulCall of(Loose loose, bwgemmOperation_t transa = BWGEMM_OP_T,
                       bwgemmOperation_t transb = BWGEMM_OP_N, std::int64_t m = extent,
                       std::int64_t n = extent) {
    const auto distance = [](std::int64_t length, bool is_loose) {
      return (length + 7) / 8 * 8 + (is_loose ? 1 : 0);
    };
    MatmulCall call;
    bwgemmMatmulDesc_t& desc = call.desc;
    desc.transa = transa, desc.transb = transb;
    desc.m = m, desc.n = n, desc.k = k;
    desc.lda = distance(transa == BWGEMM_OP_N ? m : k, loose != Loose::b);
    desc.ldb = distance(transb == BWGEMM_OP_N ? k : n, loose != Loose::a);
    desc.ldc = desc.ldd = distance(m, false);
    desc.workspace = made_up(workspace), desc.workspaceSize = workspace_size;
    return call;
  }
};

// The call with the best predicted algo that copies: in parts, as copies of a whole do not fit.
inline MatmulCall with_copying_algo(bwgemmHandle_t handle, MatmulCall call) {
  for (const bwgemmMatmulAlgo_t& algo : algos_of(handle, call)) {
    if (algo.copiesOperands == 0) continue;
    call.desc.algo = algo.algo;
    return call;
  }
  ADD_FAILURE() << "no algo copies";
  return call;
}

// Forgets what the driver was asked before.
inline std::vector<FakeLaunch> launches_of(bwgemmHandle_t handle, const MatmulCall& call) {
  fake_cuda().reset();
  EXPECT_EQ(matmul(handle, call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  std::vector<FakeLaunch> launches;
  for (long n = 0; n < fake_cuda().launches(); ++n) launches.push_back(*fake_cuda().launch(n));
  return launches;
}

inline std::vector<FakeLaunch> launches_of_new_handle(const MatmulCall& call) {
  bwgemmHandle_t handle = nullptr;
  EXPECT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  const std::vector<FakeLaunch> launches = launches_of(handle, call);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  return launches;
}

// Some rows, or else columns, of the product.
inline MatmulCall part_of(MatmulCall call, bool of_m, std::int64_t from, std::int64_t count) {
  bwgemmMatmulDesc_t& desc = call.desc;
  const auto advanced = [](const void* pointer, std::int64_t elements, std::int32_t type) {
    const std::int64_t bytes = elements * (type == BWGEMM_R_32F ? 4 : 2);
    return pointer == nullptr ? nullptr
                              : made_up(reinterpret_cast<std::uintptr_t>(pointer) +
                                        static_cast<std::uintptr_t>(bytes));
  };
  const auto step = [&](std::int32_t order, std::int64_t ld, bool along_rows) {
    return from * ((order == BWGEMM_ORDER_ROW) == along_rows ? ld : 1);
  };
  if (of_m)
    call.a = advanced(call.a, step(desc.Aorder, desc.lda, desc.transa == BWGEMM_OP_N), desc.Atype);
  else
    call.b = advanced(call.b, step(desc.Border, desc.ldb, desc.transb != BWGEMM_OP_N), desc.Btype);
  call.c = advanced(call.c, step(desc.Corder, desc.ldc, of_m), desc.Ctype);
  call.d = advanced(call.d, step(desc.Dorder, desc.ldd, of_m), desc.Dtype);
  desc.aux = advanced(desc.aux, step(desc.Dorder, desc.ldaux, of_m), desc.auxType);
  if ((desc.biasDim == BWGEMM_DIM_M) == of_m) desc.bias = advanced(desc.bias, from, desc.biasType);
  const float*& scale = of_m ? desc.rowScale : desc.columnScale;
  scale = static_cast<const float*>(advanced(scale, from, BWGEMM_R_32F));
  (of_m ? desc.m : desc.n) = count;
  return call;
}

inline void expect_equal(const FakeLaunch& seen, const FakeLaunch& expected) {
  EXPECT_STREQ(seen.kernel, expected.kernel);
  EXPECT_EQ(seen.grid, expected.grid);
  EXPECT_EQ(seen.cluster, expected.cluster);
  EXPECT_EQ(seen.smem_bytes, expected.smem_bytes);
  EXPECT_EQ(seen.stream, expected.stream);
  EXPECT_EQ(seen.overlaps, expected.overlaps);
  if (expected.is_copy())
    EXPECT_EQ(std::memcmp(&seen.copies, &expected.copies, sizeof(CopiesParams)), 0);
  else
    EXPECT_EQ(std::memcmp(&seen.params, &expected.params, sizeof(MappedParams)), 0);
}

inline void expect_equal(const std::vector<FakeLaunch>& seen,
                         const std::vector<FakeLaunch>& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    SCOPED_TRACE("launch " + std::to_string(i));
    expect_equal(seen[i], expected[i]);
  }
}

}  // namespace bwgemm::test
