// SPDX-License-Identifier: Apache-2.0
#include "dropin/epilogue.h"
#include "tune/replay.h"

namespace bwgemm::bench {

template <class Value>
void LtObjects::set(cublasLtMatmulDescAttributes_t attribute, Value value) const {
  require(state_.desc_set(desc_, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
}

LtObjects::LtObjects(const State& state, const RecordedCall& recorded, const BenchProblem& operands)
    : state_(state), operands_(operands) {
  const dropin::Call& call = recorded.call;
  const cudaDataType scale_type = call.has_half_scalars() ? CUDA_R_16F : CUDA_R_32F;
  require(state.desc_create(&desc_, static_cast<cublasComputeType_t>(call.compute), scale_type),
          "cublasLtMatmulDescCreate");
  set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(call.transa));
  set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(call.transb));
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{recorded.has_device_scalars});
  set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{recorded.sm_count_target});
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::int32_t>(call.epilogue.kind));
  const bool ta = operands.transa, tb = operands.transb;
  layouts_ = {layout_of(call.a, ta ? call.k : call.m, ta ? call.m : call.k, call.batch),
              layout_of(call.b, tb ? call.n : call.k, tb ? call.k : call.n, call.batch),
              layout_of(call.c, call.m, call.n, call.batch),
              layout_of(call.output(), call.m, call.n, call.batch)};
}

LtObjects::~LtObjects() {
  for (cublasLtMatrixLayout_t layout : layouts_) state_.layout_destroy(layout);
  if (desc_ != nullptr) state_.desc_destroy(desc_);
}

cublasLtMatrixLayout_t LtObjects::layout_of(const dropin::Operand& operand, std::int64_t rows,
                                            std::int64_t columns, std::int64_t batch) const {
  cublasLtMatrixLayout_t made = nullptr;
  require(state_.layout_create(&made, static_cast<cudaDataType>(operand.type),
                               static_cast<std::uint64_t>(rows),
                               static_cast<std::uint64_t>(columns), operand.ld),
          "cublasLtMatrixLayoutCreate");
  const auto set_of = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
    require(state_.layout_set(made, attribute, &value, sizeof value),
            "cublasLtMatrixLayoutSetAttribute");
  };
  set_of(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<std::int32_t>(operand.order));
  set_of(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set_of(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.stride);
  return made;
}

void LtObjects::point_to(const Pointers& at) const {
  if (at.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, operands_.bias().stride);
  }
  if (at.aux == nullptr) return;
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.aux);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, operands_.aux().ld);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, operands_.aux().stride);
}

}  // namespace bwgemm::bench
