// SPDX-License-Identifier: Apache-2.0
// epilogue_text: in words what a problem has that a plain GEMM does not, for reports and the log.
#pragma once

#include <string>

#include "core/problem.h"
#include "core/text.h"

namespace bwgemm {

constexpr const char* name(Gate gate) {
  switch (gate) {
    case Gate::none: return "none";
    case Gate::interleaved: return "interleaved";
    case Gate::stacked: return "stacked";
  }
  return "?";
}

constexpr const char* name(Summed of) {
  switch (of) {
    case Summed::nothing: return "nothing";
    case Summed::d: return "D";
    case Summed::a: return "A";
    case Summed::b: return "B";
  }
  return "?";
}

// "arrays of pointers, C f32 apart from D, bias bf16 for each row, relu"; "" for a plain GEMM.
inline std::string epilogue_text(const Problem& problem) {
  std::string all;
  const auto add = [&](const std::string& part) {
    if (!all.empty()) all.append(", ");
    all.append(part);
  };
  const auto add_vector = [&](const char* what, const Vector& vector, const char* line) {
    if (vector.data != nullptr) add(text(what, " ", name(vector.type), " for each ", line));
  };
  const Epilogue& epilogue = problem.epilogue;
  const Matrix& aux = epilogue.aux;
  if (problem.is_pointer_array) add("arrays of pointers");
  if (problem.reads_c() && problem.c != problem.d)
    add(text("C ", name(problem.c.type), problem.c.order == Order::row ? " row" : " column", " ld ",
             problem.c.ld, " apart from D"));
  add_vector("scale", epilogue.row_scale, "row");
  add_vector("scale", epilogue.column_scale, "column");
  add_vector("bias", epilogue.row_bias, "row");
  add_vector("bias", epilogue.column_bias, "column");
  if (aux.data != nullptr)
    add(text("aux ", name(aux.type), " ld ", aux.ld,
             epilogue.differentiates ? " read" : " written"));
  if (epilogue.activation != Activation::none)
    add(text(epilogue.differentiates ? "derivative of " : "", name(epilogue.activation)));
  if (epilogue.gate != Gate::none) add(text(name(epilogue.gate), " gate"));
  if (const BiasGradient& bias_gradient = problem.bias_gradient; bias_gradient.any())
    add(text("sums ", name(bias_gradient.to.type), " of ",
             bias_gradient.of_rows ? "rows" : "columns", " of ", name(bias_gradient.of)));
  return all;
}

}  // namespace bwgemm
