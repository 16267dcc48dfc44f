// SPDX-License-Identifier: Apache-2.0
// MatmulCase: one call of bwgemmMatmul on column-major matrices as a test describes it, and the
// judgement of what came back, by the formula of bwgemm.h in float64.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/fused_formula.h"
#include "support/gemm_case.h"

namespace bwgemm::test {

enum class Bias : std::uint8_t { none, along_m, along_n };

// What is fused to a GemmCase, whose C is then D.
struct Fusing {
  bwgemmActivation_t activation = BWGEMM_ACTIVATION_NONE;
  bwgemmGate_t gate = BWGEMM_GATE_NONE;
  Bias bias = Bias::none;
  Dtype bias_type = Dtype::f32;
  bool row_scale = false, column_scale = false;
  bwgemmAuxMode_t aux = BWGEMM_AUX_NONE;
  Dtype aux_type = Dtype::f32;
  std::int64_t aux_displacement = 0, aux_extra = 0;
  // Of beta: C is D, or lies apart and may be of another type and order.
  bool c_apart = false, c_in_rows = false;
  Dtype c = Dtype::f32;
  std::int64_t c_displacement = 0;
  bool pointer_array = false;
};

struct MatmulCase {
  GemmCase gemm;
  Fusing fusing;
};

std::ostream& operator<<(std::ostream& out, const MatmulCase& matmul);

// Operands of a case, on host and device.
class MatmulOperands {
 public:
  explicit MatmulOperands(const MatmulCase& matmul);

  bwgemmStatus_t call(bwgemmHandle_t handle) const;
  bwgemmStatus_t call(bwgemmHandle_t handle, const void* alpha, const void* beta) const;

  // The name of the kernel that the call would launch.
  std::string kernel(bwgemmHandle_t handle) const;

  // Puts D (and aux) back to what they were before the call.
  void restore();

  // Waits for the device, then expects D and aux to be what the formula says, within the header's
  // bounds, and nothing else to have been written.
  void expect_result();

  // D and what lies around it, after expect_result().
  const std::vector<std::byte>& bytes_of_d() const { return d_after_.bytes(); }

 private:
  struct Arguments {
    bwgemmMatmulDesc_t desc;
    const void *a, *b, *c;
    void* d;
  };
  Arguments arguments() const;

  Terms terms(std::int64_t row, std::int64_t column, std::int64_t batch) const;
  Value before(std::int64_t row, std::int64_t column, std::int64_t batch,
               const Product& product) const;
  Value expected(std::int64_t row, std::int64_t column, std::int64_t batch,
                 const Product& product) const;
  void expect_batch(std::int64_t batch, const Product& product) const;

  const MatmulCase matmul_;
  Operands products_;  // A and B; its C is not used
  Matrix d_, c_, bias_, row_scale_, column_scale_, aux_, d_after_, aux_after_;
  std::unique_ptr<GuardedBuffer> device_d_, device_c_, device_bias_, device_row_scale_,
      device_column_scale_, device_aux_;
  std::unique_ptr<DeviceMemory> pointers_;
};

}  // namespace bwgemm::test
