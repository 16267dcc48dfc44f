// SPDX-License-Identifier: Apache-2.0
// GemmCase: one call of the library as a test describes it, its operands on the device, and the
// judgement of what came back.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "bwgemm/bwgemm.h"
#include "support/guarded_buffer.h"
#include "support/reference_gemm.h"
#include "support/tolerance.h"

namespace bwgemm::test {

struct GemmCase {
  bwgemmOperation_t transa = BWGEMM_OP_N, transb = BWGEMM_OP_N;
  std::int64_t m = 1, n = 1, k = 1;
  Dtype input = Dtype::bf16, output = Dtype::bf16;
  float alpha = 1, beta = 0;
  // How the operands lie in memory. Leading dimensions are rows + extra, rounded up to a multiple.
  std::int64_t lda_extra = 0, ldb_extra = 0, ldc_extra = 0;
  std::int64_t ld_multiple = 1;
  std::int64_t a_displacement = 0, b_displacement = 0, c_displacement = 0;
  std::int64_t batch = 1;
  bool repeat_a = false, repeat_b = false;  // batch stride 0
  std::int64_t stride_extra = 0;
  bool nothing_behind = false;  // the memory of A and B ends with their last elements
  Fill fill = Fill::normal;
  Fill fill_c = Fill::normal;  // poison: C holds NaN before the call
  std::uint64_t seed = 1;
};

std::ostream& operator<<(std::ostream& out, const GemmCase& gemm);

// Results do not depend on how operands lie in memory: cases that differ in that alone, or in
// scalars, output type and what is fused, share the product. The last ones are kept.
std::shared_ptr<const Product> shared_product(const GemmCase& gemm, const Operand& a,
                                              const Operand& b);

// Operands of a case, on host and device.
class Operands {
 public:
  explicit Operands(const GemmCase& gemm);

  const Matrix& a() const { return a_; }
  const Matrix& b() const { return b_; }
  const Matrix& c_before() const { return c_; }
  void* a_pointer() const { return device_a_->pointer(); }
  void* b_pointer() const { return device_b_->pointer(); }
  void* c_pointer() const { return device_c_->pointer(); }
  GuardedBuffer& device_c() { return *device_c_; }

  // Waits for the device, then expects C to be what the contract allows, nothing else to have been
  // written, and A and B to be as they were. With integer data results must be bitwise equal.
  void expect_result(const std::string& where = "");

 private:
  void expect_batch(const Matrix& d, std::int64_t batch, const Product& product,
                    const std::string& where) const;

  GemmCase gemm_;
  Matrix a_, b_, c_;
  std::unique_ptr<GuardedBuffer> device_a_, device_b_, device_c_;
};

// Calls bwgemmGemmEx, or bwgemmGemmStridedBatchedEx for a batch, with host scalars of the case or
// with `alpha` and `beta` as they are (device scalars).
bwgemmStatus_t call(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands);
bwgemmStatus_t call(bwgemmHandle_t handle, const GemmCase& gemm, const Operands& operands,
                    const void* alpha, const void* beta);

// Makes the operands, calls, judges.
void run(bwgemmHandle_t handle, const GemmCase& gemm);

// A handle of its own for the length of a scope; creation is expected to succeed.
class Handle {
 public:
  Handle();
  Handle(const Handle&) = delete;
  ~Handle();
  bwgemmHandle_t get() const { return handle_; }

 private:
  bwgemmHandle_t handle_ = nullptr;
};

// A GPU test with a handle in the primary context, on the legacy default stream.
class HandleTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) handle_ = std::make_unique<Handle>();
  }
  void TearDown() override {
    handle_.reset();
    GpuTest::TearDown();
  }
  bwgemmHandle_t handle() const { return handle_->get(); }

 private:
  std::unique_ptr<Handle> handle_;
};

// For EXPECT_TRUE: success, or the status with the library's last error text.
::testing::AssertionResult succeeds(bwgemmStatus_t status);

}  // namespace bwgemm::test
