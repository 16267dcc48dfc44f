// SPDX-License-Identifier: Apache-2.0
// The double of cuBLASLt: see fake_cublaslt.h. An algorithm of it is its number, its splits of
// k and the workspace that it needs.
#include "dropin/fake_cublaslt.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "dropin/fake_lt_objects.h"
#include "dropin/fake_multiply.h"

struct cublasLtContext {};

namespace {

using bwgemm::test::attribute_of;
using bwgemm::test::desc_attributes;
using bwgemm::test::FakeAttribute;
using bwgemm::test::layout_attributes;

constexpr auto invalid_value = static_cast<cublasStatus_t>(7);

std::mutex mutex;
std::set<const void*> handles;
FakeLtProduct last{};
double error = 0;
bool records_only = false;
std::atomic<std::int64_t> reads{0};

// An attribute of a new object.
template <class Object, class Value>
void put(Object& object, int number, Value value) {
  const auto wide = static_cast<std::uint64_t>(value);
  object.set(number, &wide, attribute_of(object.all, number)->size);
}

using Attributes = std::span<const FakeAttribute>;

template <class Object>
cublasStatus_t set(Object* object, Attributes all, int number, const void* from, std::size_t size) {
  const FakeAttribute* const known = attribute_of(all, number);
  if (object == nullptr || known == nullptr || from == nullptr || size != known->size)
    return invalid_value;
  std::memcpy(object->place(all, number), from, size);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Object>
cublasStatus_t get(Object* object, Attributes all, int number, void* to, std::size_t size,
                   std::size_t* written) {
  ++reads;
  const FakeAttribute* const known = attribute_of(all, number);
  if (object == nullptr || known == nullptr ||
      (size != 0 && (to == nullptr || size != known->size)))
    return invalid_value;
  if (written != nullptr) *written = known->size;
  if (size != 0) std::memcpy(to, object->place(all, number), size);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeLtProduct fakeCublasLtLast() {
  const std::lock_guard lock(mutex);
  return last;
}

void fakeCublasLtRecordOnly(int only) {
  records_only = only != 0;
}

void fakeCublasLtAdd(double added) {
  error = added;
}

void fakeCublasLtReset() {
  last = {};
  error = 0;
  records_only = false;
}

void fakeCublasLtKnow(void* cublas_handle, int lives) {
  const std::lock_guard lock(mutex);
  if (lives != 0)
    handles.insert(cublas_handle);
  else
    handles.erase(cublas_handle);
}

std::int64_t fakeCublasLtReads() {
  return reads;
}

// FAKE_CUBLASLT_VERSION, or that of CUDA 13.0.
size_t cublasLtGetVersion() {
  const char* const named = std::getenv("FAKE_CUBLASLT_VERSION");
  return named != nullptr ? static_cast<size_t>(std::atoi(named)) : 130100;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  fakeCublasLtKnow(*handle, 1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  const std::lock_guard lock(mutex);
  if (handles.erase(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType scale_type) {
  *desc = new cublasLtMatmulDescOpaque(desc_attributes);
  put(**desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute);
  put(**desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale_type);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, size_t size) {
  return set(desc, desc_attributes, attribute, from, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, void* to,
                                              size_t size, size_t* written) {
  return get(desc, desc_attributes, attribute, to, size, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  *layout = new cublasLtMatrixLayoutOpaque(layout_attributes);
  put(**layout, CUBLASLT_MATRIX_LAYOUT_TYPE, type);
  put(**layout, CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  put(**layout, CUBLASLT_MATRIX_LAYOUT_COLS, columns);
  put(**layout, CUBLASLT_MATRIX_LAYOUT_LD, ld);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from, size_t size) {
  return set(layout, layout_attributes, attribute, from, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* to,
                                                size_t size, size_t* written) {
  return get(layout, layout_attributes, attribute, to, size, written);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* to, size_t size, size_t* written) {
  if (attribute != CUBLASLT_ALGO_CONFIG_SPLITK_NUM || size != 4) return invalid_value;
  std::memcpy(to, &algo->data[1], size);
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* A, cublasLtMatrixLayout_t a_layout, const void* B,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* C,
                              cublasLtMatrixLayout_t c_layout, void* D,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_size, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (handles.count(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  last = {handle, desc, a_layout, b_layout,  c_layout,       d_layout, alpha,         A, B, beta,
          C,      D,    algo,     workspace, workspace_size, stream,   last.count + 1};
  if (desc == nullptr || a_layout == nullptr || b_layout == nullptr || d_layout == nullptr)
    return invalid_value;
  if (algo != nullptr && workspace_size < algo->data[2]) return invalid_value;
  if (!records_only) bwgemm::test::multiply(last, error);
  return CUBLAS_STATUS_SUCCESS;
}
