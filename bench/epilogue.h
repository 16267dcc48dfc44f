// SPDX-License-Identifier: Apache-2.0
// BenchEpilogue: what is fused to a problem's product, by its names in lists and results; and the
// activations in float64.
#pragma once

#include <string>

#include "bwgemm/bwgemm.h"

namespace bwgemm::bench {

// D = activation(x), x = alpha op(A) op(B) + bias + beta C: see bwgemmMatmul.
struct BenchEpilogue {
  bool residual = false;  // C is apart from D, which has its form
  bool bias = false;      // of D's type; an element for each of the product's rows, API view
  bwgemmActivation_t activation = BWGEMM_ACTIVATION_NONE;
  bwgemmGate_t gate = BWGEMM_GATE_NONE;
  bool derivative = false;  // D = x times the activation's slope at a matrix of D's form

  bool operator==(const BenchEpilogue&) const = default;

  // Whether it takes bwgemmMatmul: beta alone does not.
  bool any() const { return *this != BenchEpilogue{}; }
  // Whether D is a sum of terms, one of which is the product.
  bool is_linear() const { return activation == BWGEMM_ACTIVATION_NONE; }
};

// `gate` is that of a gated epilogue, "" stands for the default. Throw std::runtime_error.
BenchEpilogue parse_epilogue(const std::string& name, const std::string& gate);

// "none", "bias_relu", ...: what parse_epilogue takes.
std::string epilogue_name(const BenchEpilogue& epilogue);
std::string gate_name(const BenchEpilogue& epilogue);

// Whether one cublasLtMatmul computes it, but for relu's derivative, which it takes from bits.
bool is_fused_by_cublaslt(const BenchEpilogue& epilogue);

struct CurvePoint {
  double value, slope;
};
CurvePoint activated(bwgemmActivation_t activation, double x);

}  // namespace bwgemm::bench
