// SPDX-License-Identifier: Apache-2.0
// The operands of a product on a device that computes: small integers, so that results are exact
// whatever the order of additions, and C between guard bands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dropin/cublas_call.h"
#include "support/guarded_buffer.h"
#include "support/matrix.h"

namespace bwgemm::test {

class Operands {
 public:
  // Takes types, sizes, leading dimensions and strides from `call`, and gives it the addresses. The
  // function says whether there is a batch, and whether it lies behind arrays of pointers.
  Operands(CublasCall& call, const std::string& function);

  // Waits for the device. Empty if C is alpha * A * B + beta * C as it was, with C(0,0) of each
  // matrix `added` larger, and nothing else was written.
  std::string difference(float alpha, float beta, float added = 0);

  // C as it was before.
  void restore() { c_->upload(); }

 private:
  const CublasCall& call_;
  std::int64_t batch_;
  Matrix a_, b_, before_;
  std::unique_ptr<GuardedBuffer> device_a_, device_b_, c_;
  std::unique_ptr<DeviceMemory> pointers_;
};

}  // namespace bwgemm::test
