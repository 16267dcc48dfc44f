// SPDX-License-Identifier: Apache-2.0
#include "epilogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace bwgemm::bench {

namespace {

struct Form {
  const char* name;
  BenchEpilogue epilogue;
};

// Each, but those of derivatives, also with bias_ before it.
constexpr std::array forms = {
    Form{"residual", {.residual = true}},
    Form{"relu", {.activation = BWGEMM_ACTIVATION_RELU}},
    Form{"gelu_tanh", {.activation = BWGEMM_ACTIVATION_GELU_TANH}},
    Form{"gelu_erf", {.activation = BWGEMM_ACTIVATION_GELU_ERF}},
    Form{"silu", {.activation = BWGEMM_ACTIVATION_SILU}},
    Form{"swiglu", {.activation = BWGEMM_ACTIVATION_SILU, .gate = BWGEMM_GATE_INTERLEAVED}},
    Form{"geglu", {.activation = BWGEMM_ACTIVATION_GELU_TANH, .gate = BWGEMM_GATE_INTERLEAVED}},
    Form{"drelu", {.activation = BWGEMM_ACTIVATION_RELU, .derivative = true}},
    Form{"dgelu", {.activation = BWGEMM_ACTIVATION_GELU_TANH, .derivative = true}},
};

const std::string bias_prefix = "bias_";

std::string known_names() {
  std::string all = "none, beta1, bias";
  for (const Form& form : forms) all.append(", ").append(form.name);
  return all + "; with bias_ before all but derivatives";
}

BenchEpilogue without_gate_kind(const std::string& name) {
  if (name == "none") return {};
  if (name == "bias") return {.bias = true};
  const bool has_bias = name.starts_with(bias_prefix);
  const std::string rest = has_bias ? name.substr(bias_prefix.size()) : name;
  const auto found =
      std::find_if(forms.begin(), forms.end(), [&](const Form& form) { return form.name == rest; });
  if (found == forms.end() || (has_bias && found->epilogue.derivative))
    throw std::runtime_error("epilogue is '" + name + "' but must be one of " + known_names());
  BenchEpilogue epilogue = found->epilogue;
  epilogue.bias = has_bias;
  return epilogue;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

CurvePoint gelu_tanh(double x) {
  const double steepness = 2 * std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
  const double s = sigmoid(steepness * (x + cubic * x * x * x));
  return {x * s, s + x * s * (1 - s) * steepness * (1 + 3 * cubic * x * x)};
}

CurvePoint gelu_erf(double x) {
  const double share = std::erfc(-x / std::numbers::sqrt2) / 2;
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return {x * share, share + x * density};
}

CurvePoint silu(double x) {
  const double s = sigmoid(x);
  return {x * s, s + x * s * (1 - s)};
}

}  // namespace

BenchEpilogue parse_epilogue(const std::string& name, const std::string& gate) {
  BenchEpilogue epilogue = without_gate_kind(name);
  const bool is_gated = epilogue.gate != BWGEMM_GATE_NONE;
  if (is_gated && gate == "stacked")
    epilogue.gate = BWGEMM_GATE_STACKED;
  else if (is_gated && !gate.empty() && gate != "interleaved")
    throw std::runtime_error("gate is '" + gate + "' but must be interleaved or stacked");
  else if (!is_gated && !gate.empty() && gate != "none")
    throw std::runtime_error("gate is '" + gate + "' but epilogue " + name + " has none");
  return epilogue;
}

std::string epilogue_name(const BenchEpilogue& epilogue) {
  BenchEpilogue form = epilogue;
  form.bias = false;
  if (form.gate == BWGEMM_GATE_STACKED) form.gate = BWGEMM_GATE_INTERLEAVED;
  const auto found = std::find_if(forms.begin(), forms.end(),
                                  [&](const Form& one) { return one.epilogue == form; });
  if (found == forms.end()) return epilogue.bias ? "bias" : "none";
  return (epilogue.bias ? bias_prefix : "") + found->name;
}

std::string gate_name(const BenchEpilogue& epilogue) {
  switch (epilogue.gate) {
    case BWGEMM_GATE_INTERLEAVED: return "interleaved";
    case BWGEMM_GATE_STACKED: return "stacked";
    default: return "none";
  }
}

bool is_fused_by_cublaslt(const BenchEpilogue& epilogue) {
  if (epilogue.gate != BWGEMM_GATE_NONE) return false;
  return epilogue.activation == BWGEMM_ACTIVATION_NONE ||
         epilogue.activation == BWGEMM_ACTIVATION_RELU ||
         epilogue.activation == BWGEMM_ACTIVATION_GELU_TANH;
}

CurvePoint activated(bwgemmActivation_t activation, double x) {
  switch (activation) {
    case BWGEMM_ACTIVATION_RELU: return {std::max(x, 0.0), x > 0 ? 1.0 : 0.0};
    case BWGEMM_ACTIVATION_GELU_TANH: return gelu_tanh(x);
    case BWGEMM_ACTIVATION_GELU_ERF: return gelu_erf(x);
    case BWGEMM_ACTIVATION_SILU: return silu(x);
    default: return {x, 1};
  }
}

}  // namespace bwgemm::bench
