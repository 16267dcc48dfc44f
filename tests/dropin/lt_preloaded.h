// SPDX-License-Identifier: Apache-2.0
// The fixture of tests of cublasLtMatmul: see preloaded.h. The handle of cuBLAS is used as one of
// cuBLASLt, as PyTorch does.
#pragma once

#include "dropin/lt_call.h"
#include "dropin/preloaded.h"

namespace bwgemm::test {

class LtPreloaded : public Preloaded {
 protected:
  void SetUp() override {
    Preloaded::SetUp();
    fakeCublasLtReset();
  }
  cublasLtHandle_t lt() const { return reinterpret_cast<cublasLtHandle_t>(handle()); }
};

}  // namespace bwgemm::test
