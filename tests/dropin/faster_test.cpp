// SPDX-License-Identifier: Apache-2.0
// The default policy, on a device of which there are times: bwgemm computes what it is predicted to
// compute faster.
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include "dropin/operands.h"
#include "dropin/preloaded.h"

namespace bwgemm::test {
namespace {

class DropinFaster : public Preloaded {
 protected:
  CublasCall sized(std::int64_t m, std::int64_t n, std::int64_t k, cublasOperation_t transa) const {
    CublasCall made = call();
    made.transa = transa;
    made.m = made.ldc = m;
    made.n = n;
    made.k = made.ldb = k;
    made.lda = transa == CUBLAS_OP_N ? m : k;
    made.stride_a = m * k;
    made.stride_b = n * k;
    made.stride_c = m * n;
    return made;
  }
  // Few columns and a short k: bwgemm takes a third less time.
  CublasCall quick() const { return sized(256, 8, 64, CUBLAS_OP_T); }
  // Operands at odd elements, two tiles and a k of 26,120: cuBLAS takes half the time.
  CublasCall slow() const { return sized(31, 33, 26120, CUBLAS_OP_N); }

  // The products that cuBLAS computes of two equal calls; 0 or 2.
  static std::int64_t forwarded(const CublasCall& call,
                                const std::string& function = "cublasGemmEx") {
    fakeCublasReset();
    fakeCublasRecordOnly(1);
    EXPECT_EQ(call.run(function), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call.run(function), CUBLAS_STATUS_SUCCESS);
    return fakeCublasLast().count;
  }
};

TEST_F(DropinFaster, IsServed) {
  CublasCall made = quick();
  Operands operands(made, "cublasGemmEx");
  EXPECT_EQ(forwarded(made), 0);
  EXPECT_EQ(operands.difference(1, 0), "");
}

TEST_F(DropinFaster, WhatIsSlowerIsLeft) {
  CublasCall made = slow();
  const Operands operands(made, "cublasGemmEx");
  EXPECT_EQ(forwarded(made), 2);
}

TEST_F(DropinFaster, WhatWasNotMeasuredIsLeft) {
  CublasCall made = quick();
  const Operands operands(made, "cublasGemmBatchedEx");
  EXPECT_EQ(forwarded(made, "cublasGemmBatchedEx"), 2);
  CublasCall half = quick();
  const Operands of_half(half, "cublasHgemm");
  EXPECT_EQ(forwarded(half, "cublasHgemm"), 2);
  CublasCall repeated = quick();
  const Operands of_repeated(repeated, "cublasGemmStridedBatchedEx");
  EXPECT_EQ(forwarded(repeated, "cublasGemmStridedBatchedEx"), 0);
  repeated.stride_b = 0;
  EXPECT_EQ(forwarded(repeated, "cublasGemmStridedBatchedEx"), 2);
  CublasCall limited = quick();
  const Operands others(limited, "cublasGemmEx");
  ASSERT_EQ(cublasSetSmCountTarget(handle(), 64), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(forwarded(limited), 2);
  ASSERT_EQ(cublasSetSmCountTarget(handle(), 0), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(forwarded(limited), 0);
}

// Without a product there is little to do, which says nothing of the next call.
TEST_F(DropinFaster, ScalarsOfZeroAreOtherKinds) {
  const float zero = 0;
  CublasCall made = slow();
  const Operands operands(made, "cublasGemmEx");
  CublasCall empty = made;
  empty.alpha = &zero;
  fakeCublasRecordOnly(1);
  ASSERT_EQ(empty.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(forwarded(made), 2);
}

// Scalars on the device are not read by the host, also of a call that was left before.
TEST_F(DropinFaster, ScalarsOnTheDeviceAreNotRead) {
  CublasCall made = slow();
  const Operands operands(made, "cublasGemmEx");
  EXPECT_EQ(forwarded(made), 2);
  ASSERT_EQ(cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  CublasCall on_device = made;
  on_device.alpha = on_device.beta = reinterpret_cast<const float*>(std::uintptr_t{0x1000});
  EXPECT_EQ(forwarded(on_device), 2);
  ASSERT_EQ(cublasSetPointerMode_v2(handle(), CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
}

// What bwgemm refuses goes to cuBLAS, and is not remembered for a call that looks alike.
TEST_F(DropinFaster, RefusedCallsDecideNothing) {
  CublasCall made = quick();
  const Operands operands(made, "cublasGemmEx");
  CublasCall refused = made;
  refused.transa = static_cast<cublasOperation_t>(made.transa + 4);
  EXPECT_EQ(forwarded(refused), 2);
  EXPECT_EQ(forwarded(made), 0);
}

// More kinds than are kept.
TEST_F(DropinFaster, DecidesAlikeWhenItHasForgotten) {
  CublasCall made = quick(), left = slow();
  const Operands operands(made, "cublasGemmEx"), others(left, "cublasGemmEx");
  EXPECT_EQ(forwarded(made), 0);
  CublasCall varied = left;
  fakeCublasRecordOnly(1);
  for (std::int64_t k = 1000; k < 1000 + 4200; ++k) {
    varied.k = k;
    ASSERT_EQ(varied.run("cublasGemmEx"), CUBLAS_STATUS_SUCCESS);
  }
  EXPECT_EQ(forwarded(left), 2);
  EXPECT_EQ(forwarded(made), 0);
}

}  // namespace
}  // namespace bwgemm::test
