// SPDX-License-Identifier: Apache-2.0
//
// A call of bwgemmMatmul: its arguments, filled in by whoever knows them, and the call itself.
#pragma once

#include <string>

#include "bwgemm/bwgemm.h"
#include "layout.h"

namespace bwgemm_python {

struct Call {
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  float alpha = 1, beta = 0;
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  int device = 0;
  void* stream = nullptr;
};

// Fills in what the call says of one of its matrices.
void set_a(Call& call, const Matrix& matrix);
void set_b(Call& call, const Matrix& matrix);
void set_c(Call& call, const Matrix& matrix);
void set_d(Call& call, const Matrix& matrix);

// Other threads may run Python meanwhile. Throws a Failure.
void multiply(const Call& call);

// What the library would choose, and why.
std::string explained(const Call& call);

}  // namespace bwgemm_python
