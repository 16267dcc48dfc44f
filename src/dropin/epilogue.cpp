// SPDX-License-Identifier: Apache-2.0
#include "dropin/epilogue.h"

#include <algorithm>
#include <iterator>

namespace bwgemm::dropin {
namespace {

constexpr auto no_activation = BWGEMM_ACTIVATION_NONE;
constexpr auto relu = BWGEMM_ACTIVATION_RELU;
constexpr auto gelu_tanh = BWGEMM_ACTIVATION_GELU_TANH;
constexpr auto no_aux = BWGEMM_AUX_NONE;
constexpr auto store = BWGEMM_AUX_STORE;
constexpr auto derivative = BWGEMM_AUX_DERIVATIVE;
constexpr auto no_gradient = BWGEMM_BIAS_GRADIENT_NONE;

constexpr EpilogueForm forms[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, no_activation, no_aux, false, no_gradient},
    {CUBLASLT_EPILOGUE_RELU, relu, no_aux, false, no_gradient},
    {CUBLASLT_EPILOGUE_BIAS, no_activation, no_aux, true, no_gradient},
    {CUBLASLT_EPILOGUE_RELU_BIAS, relu, no_aux, true, no_gradient},
    {CUBLASLT_EPILOGUE_GELU, gelu_tanh, no_aux, false, no_gradient},
    {CUBLASLT_EPILOGUE_GELU_BIAS, gelu_tanh, no_aux, true, no_gradient},
    {CUBLASLT_EPILOGUE_GELU_AUX, gelu_tanh, store, false, no_gradient},
    {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, gelu_tanh, store, true, no_gradient},
    {CUBLASLT_EPILOGUE_DGELU, gelu_tanh, derivative, false, no_gradient},
    {CUBLASLT_EPILOGUE_DGELU_BGRAD, gelu_tanh, derivative, false, BWGEMM_BIAS_GRADIENT_D_ROWS},
    {CUBLASLT_EPILOGUE_BGRADA, no_activation, no_aux, false, BWGEMM_BIAS_GRADIENT_A},
    {CUBLASLT_EPILOGUE_BGRADB, no_activation, no_aux, false, BWGEMM_BIAS_GRADIENT_B}};

}  // namespace

const EpilogueForm* form_of(int kind) {
  const auto* const found =
      std::find_if(std::begin(forms), std::end(forms),
                   [=](const EpilogueForm& form) { return form.kind == kind; });
  return found != std::end(forms) ? found : nullptr;
}

// cuBLASLt does not say in which order it has the aux matrix of a D in row order.
bool has_served_epilogue(const Call& call) {
  const EpilogueForm* const form = form_of(call.epilogue.kind);
  if (form == nullptr) return false;
  if (form->uses_bias_pointer() && call.epilogue.bias == nullptr) return false;
  if (form->aux_mode == BWGEMM_AUX_NONE) return true;
  return call.epilogue.aux != nullptr && !call.output().is_row_major();
}

void set_epilogue(bwgemmMatmulDesc_t& desc, const Call& call) {
  const Epilogue& epilogue = call.epilogue;
  if (epilogue.kind == CUBLASLT_EPILOGUE_DEFAULT) return;
  const EpilogueForm& form = *form_of(epilogue.kind);
  desc.activation = form.activation;
  if (form.adds_bias) {
    desc.bias = epilogue.bias;
    desc.biasType = epilogue.bias_type;
    desc.strideBias = epilogue.bias_stride;
  } else if (form.gradient_of != BWGEMM_BIAS_GRADIENT_NONE) {
    desc.biasGradientOf = form.gradient_of;
    desc.biasGradient = epilogue.bias;
    desc.biasGradientType = epilogue.bias_type;
    desc.strideBiasGradient = epilogue.bias_stride;
  }
  if (form.aux_mode == BWGEMM_AUX_NONE) return;
  desc.auxMode = form.aux_mode;
  desc.aux = epilogue.aux;
  desc.auxType = epilogue.aux_type;
  desc.ldaux = epilogue.aux_ld;
  desc.strideAux = epilogue.aux_stride;
}

}  // namespace bwgemm::dropin
