// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_defaults.h"

#include <algorithm>

namespace bwgemm::dropin {
namespace {

struct Read {
  int attribute;
  std::size_t size;
};

// Attributes that lt_read.cpp reads of a call.
constexpr Read read_of_desc[] = {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4},
                                 {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4},
                                 {CUBLASLT_MATMUL_DESC_POINTER_MODE, 4},
                                 {CUBLASLT_MATMUL_DESC_TRANSA, 4},
                                 {CUBLASLT_MATMUL_DESC_TRANSB, 4},
                                 {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},
                                 {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8},
                                 {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8},
                                 {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8},
                                 {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8},
                                 {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 8},
                                 {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4},
                                 {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 4},
                                 {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4}};
constexpr Read read_of_layout[] = {{CUBLASLT_MATRIX_LAYOUT_TYPE, 4},
                                   {CUBLASLT_MATRIX_LAYOUT_ORDER, 4},
                                   {CUBLASLT_MATRIX_LAYOUT_ROWS, 8},
                                   {CUBLASLT_MATRIX_LAYOUT_COLS, 8},
                                   {CUBLASLT_MATRIX_LAYOUT_LD, 8},
                                   {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4},
                                   {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8}};

// Learns from a new object. False if an attribute is not as it is known here, or there are too
// many.
template <class Object, class Attribute, std::size_t reads, std::size_t capacity>
bool learn(cublasStatus_t (*get)(Object, Attribute, void*, std::size_t, std::size_t*),
           Object object, const Read (&read)[reads], LtDefaultList<capacity>& list) {
  std::size_t seen = 0;
  for (int attribute = 0; attribute < lt_attributes; ++attribute) {
    const auto id = static_cast<Attribute>(attribute);
    std::size_t size = 0, written = 0;
    if (get(object, id, nullptr, 0, &size) != CUBLAS_STATUS_SUCCESS) continue;
    const auto* const known = std::find_if(std::begin(read), std::end(read), [=](const Read& one) {
      return one.attribute == attribute;
    });
    if (known != std::end(read)) {
      if (known->size != size) return false;
      ++seen;
      continue;
    }
    LtDefault found{attribute, static_cast<std::uint32_t>(size), 0};
    if (size > sizeof found.value || list.count == capacity ||
        get(object, id, &found.value, size, &written) != CUBLAS_STATUS_SUCCESS)
      return false;
    list.all[list.count++] = found;
  }
  return seen == reads;
}

}  // namespace

LtDefaults defaults_of(const LtGetters& getters, const LtMakers& makers) {
  LtDefaults found{};
  if (getters.desc == nullptr || getters.layout == nullptr || makers.create_desc == nullptr ||
      makers.destroy_desc == nullptr || makers.create_layout == nullptr ||
      makers.destroy_layout == nullptr)
    return found;
  cublasLtMatmulDesc_t desc = nullptr;
  if (makers.create_desc(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) != CUBLAS_STATUS_SUCCESS)
    return found;
  found.are_known = learn(getters.desc, desc, read_of_desc, found.desc);
  makers.destroy_desc(desc);
  cublasLtMatrixLayout_t layout = nullptr;
  if (makers.create_layout(&layout, CUDA_R_16BF, 64, 64, 64) != CUBLAS_STATUS_SUCCESS)
    return LtDefaults{};
  found.are_known = learn(getters.layout, layout, read_of_layout, found.layout) && found.are_known;
  makers.destroy_layout(layout);
  return found;
}

}  // namespace bwgemm::dropin
