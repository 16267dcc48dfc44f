// SPDX-License-Identifier: Apache-2.0
// Calls of bwgemmMatmul with operands that nothing follows: a legal product of 256 x 256 x 256 in
// bfloat16, without epilogue, of one batch, to be changed by tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bwgemm/bwgemm.h"

namespace bwgemm::test {

inline void* made_up(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

struct MatmulCall {
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  const void* alpha = &one;
  const void* a = made_up(0x7f0000000000);
  const void* b = made_up(0x7f0010000000);
  const void* beta = &zero;
  const void* c = made_up(0x7f0018000000);
  void* d = made_up(0x7f0020000000);

  static constexpr float zero = 0, one = 1;

  MatmulCall() {
    desc.transa = BWGEMM_OP_T;
    desc.m = desc.n = desc.k = 256;
    desc.lda = desc.ldb = desc.ldc = desc.ldd = 256;
  }

  static MatmulCall batched(std::int64_t count = 3) {
    MatmulCall call;
    call.desc.batchCount = count;
    call.desc.strideA = call.desc.strideB = call.desc.strideC = call.desc.strideD = 65536;
    return call;
  }
  // As those of GemmArguments.
  static MatmulCall split() {
    MatmulCall call;
    call.desc.transb = BWGEMM_OP_T;
    call.desc.m = call.desc.ldc = call.desc.ldd = 64;
    call.desc.n = call.desc.ldb = 7;
    call.desc.k = call.desc.lda = 16383;
    return call;
  }
  static MatmulCall copied() {
    MatmulCall call;
    call.desc.m = call.desc.n = call.desc.ldc = call.desc.ldd = 1024;
    call.desc.k = call.desc.lda = call.desc.ldb = 1033;
    return call;
  }
  static MatmulCall with_bias() {
    MatmulCall call;
    call.desc.bias = made_up(0x7f0028000000);
    return call;
  }
  static MatmulCall with_aux(bwgemmAuxMode_t mode = BWGEMM_AUX_STORE) {
    MatmulCall call;
    call.desc.activation = BWGEMM_ACTIVATION_RELU;
    call.desc.auxMode = mode;
    call.desc.aux = made_up(0x7f0030000000);
    call.desc.ldaux = 256;
    call.desc.strideAux = 65536;
    return call;
  }
  static MatmulCall gated(bwgemmGate_t gate = BWGEMM_GATE_INTERLEAVED) {
    MatmulCall call;
    call.desc.activation = BWGEMM_ACTIVATION_SILU;
    call.desc.gate = gate;
    call.desc.ldd = 128;
    return call;
  }
  // Of few long sums, which workspace is used for.
  static MatmulCall with_gradient(bwgemmBiasGradient_t of = BWGEMM_BIAS_GRADIENT_D_ROWS) {
    MatmulCall call;
    call.desc.n = 1200;
    call.desc.biasGradientOf = of;
    call.desc.biasGradient = made_up(0x7f0038000000);
    return call;
  }
  static MatmulCall with_arrays() {
    MatmulCall call;
    call.desc.batchMode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
    call.desc.batchCount = 3;
    return call;
  }
};

inline bwgemmStatus_t matmul(bwgemmHandle_t handle, const MatmulCall& call) {
  return bwgemmMatmul(handle, &call.desc, call.alpha, call.a, call.b, call.beta, call.c, call.d);
}

inline bwgemmStatus_t workspace_size(bwgemmHandle_t handle, const MatmulCall& call,
                                     std::size_t* size) {
  return bwgemmMatmulGetWorkspaceSize(handle, &call.desc, call.alpha, call.a, call.b, call.beta,
                                      call.c, call.d, size);
}

inline bwgemmStatus_t explain(bwgemmHandle_t handle, const MatmulCall& call, char* text,
                              std::size_t size) {
  return bwgemmMatmulExplain(handle, &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                             call.d, text, size);
}

}  // namespace bwgemm::test
