// SPDX-License-Identifier: Apache-2.0
// The epilogues of cuBLASLt that bwgemm has with the same meaning.
#pragma once

#include "bwgemm/bwgemm.h"
#include "dropin/call.h"

namespace bwgemm::dropin {

struct EpilogueForm {
  int kind;  // cublasLtEpilogue_t
  bwgemmActivation_t activation;
  bwgemmAuxMode_t aux_mode;
  bool adds_bias;
  bwgemmBiasGradient_t gradient_of;

  bool uses_bias_pointer() const { return adds_bias || gradient_of != BWGEMM_BIAS_GRADIENT_NONE; }
  // Whether sums of an operand are formed, which alpha has no part in here.
  bool sums_operand() const {
    return gradient_of == BWGEMM_BIAS_GRADIENT_A || gradient_of == BWGEMM_BIAS_GRADIENT_B;
  }
  // Whether the call writes more than D.
  bool writes_beside_d() const {
    return gradient_of != BWGEMM_BIAS_GRADIENT_NONE || aux_mode == BWGEMM_AUX_STORE;
  }
};

// Null for others: those of relu with a mask of bits, and those that are not known here.
const EpilogueForm* form_of(int kind);

// Whether the call's epilogue is one of them, with what it needs.
bool has_served_epilogue(const Call& call);

void set_epilogue(bwgemmMatmulDesc_t& desc, const Call& call);

}  // namespace bwgemm::dropin
