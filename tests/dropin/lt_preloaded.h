// SPDX-License-Identifier: Apache-2.0
// The fixtures of tests of cublasLtMatmul: see preloaded.h. The handle of cuBLAS is used as one of
// cuBLASLt, as PyTorch does.
#pragma once

#include "dropin/lt_call.h"
#include "dropin/preloaded.h"
#include "support/fake_cuda.h"
#include "support/fake_gemm.h"

namespace bwgemm::test {

class LtPreloaded : public Preloaded {
 protected:
  void SetUp() override {
    Preloaded::SetUp();
    fakeCublasLtReset();
  }
  cublasLtHandle_t lt() const { return reinterpret_cast<cublasLtHandle_t>(handle()); }
};

// On the false driver, which must not be misused. The doubles of cuBLAS compute nothing.
class Recorded : public LtPreloaded {
 protected:
  void SetUp() override {
    LtPreloaded::SetUp();
    fakeCublasRecordOnly(1);
    fakeCublasLtRecordOnly(1);
    fake_cuda().reset();
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda().misuse(0), nullptr) << fake_cuda().misuse(0);
    LtPreloaded::TearDown();
  }
};

}  // namespace bwgemm::test
