// SPDX-License-Identifier: Apache-2.0
#include "cublaslt.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace bwgemm::bench {

namespace {

// Values of the enumerators in cublasLt.h, by their names there.
constexpr int matmul_desc_pointer_mode = 2;
constexpr int matmul_desc_transa = 3;
constexpr int matmul_desc_transb = 4;
constexpr int matrix_layout_batch_count = 5;
constexpr int matrix_layout_strided_batch_offset = 6;
constexpr int matmul_pref_max_workspace_bytes = 1;
constexpr int matmul_pref_min_alignment_a_bytes = 5;
constexpr int matmul_pref_min_alignment_b_bytes = 6;
constexpr int matmul_pref_min_alignment_c_bytes = 7;
constexpr int matmul_pref_min_alignment_d_bytes = 8;
constexpr int compute_32f = 68;
constexpr int real_32f = 0;

void require(int status, const char* call) {
  if (status != 0)
    throw std::runtime_error(std::string(call) + " returned status " + std::to_string(status));
}

// Of the matrix's first element, as far as cuBLASLt asks.
std::uint32_t alignment(const BenchMatrix& matrix) {
  const auto bytes = static_cast<std::uint32_t>(matrix.displace);
  return bytes == 0 ? 256 : bytes & (~bytes + 1);
}

template <class Function>
void bind(void* library, const char* symbol, Function& entry) {
  entry = reinterpret_cast<Function>(dlsym(library, symbol));
  if (entry == nullptr) throw std::runtime_error(std::string("libcublasLt lacks ") + symbol);
}

}  // namespace

std::unique_ptr<CublasLt> CublasLt::open(std::string& why) {
  void* library = dlopen("libcublasLt.so.13", RTLD_NOW);
  if (library == nullptr) library = dlopen("/usr/local/cuda/lib64/libcublasLt.so.13", RTLD_NOW);
  if (library == nullptr) {
    why = dlerror();
    return nullptr;
  }
  std::unique_ptr<CublasLt> lt(new CublasLt);
  Entries& entry = lt->entries_;
  bind(library, "cublasLtCreate", entry.create);
  bind(library, "cublasLtDestroy", entry.destroy);
  bind(library, "cublasLtMatmulDescCreate", entry.operation_create);
  bind(library, "cublasLtMatmulDescDestroy", entry.operation_destroy);
  bind(library, "cublasLtMatmulDescSetAttribute", entry.operation_set);
  bind(library, "cublasLtMatrixLayoutCreate", entry.layout_create);
  bind(library, "cublasLtMatrixLayoutDestroy", entry.layout_destroy);
  bind(library, "cublasLtMatrixLayoutSetAttribute", entry.layout_set);
  bind(library, "cublasLtMatmulPreferenceCreate", entry.preference_create);
  bind(library, "cublasLtMatmulPreferenceDestroy", entry.preference_destroy);
  bind(library, "cublasLtMatmulPreferenceSetAttribute", entry.preference_set);
  bind(library, "cublasLtMatmulAlgoGetHeuristic", entry.heuristic);
  bind(library, "cublasLtMatmul", entry.matmul);
  require(entry.create(&lt->handle_), "cublasLtCreate");
  lt->workspace_ = std::make_unique<DeviceBuffer>(cublaslt_workspace_bytes);
  return lt;
}

CublasLt::~CublasLt() {
  if (handle_ != nullptr) entries_.destroy(handle_);
}

CublasLtProblem::CublasLtProblem(const CublasLt& library, const BenchProblem& problem)
    : library_(library) {
  const auto& entry = library.entries_;
  require(entry.operation_create(&operation_, compute_32f, real_32f), "cublasLtMatmulDescCreate");
  const auto set = [&](int attribute, std::int32_t value, const char* what) {
    require(entry.operation_set(operation_, attribute, &value, sizeof value), what);
  };
  set(matmul_desc_transa, problem.transa ? BWGEMM_OP_T : BWGEMM_OP_N, "transa");
  set(matmul_desc_transb, problem.transb ? BWGEMM_OP_T : BWGEMM_OP_N, "transb");
  set(matmul_desc_pointer_mode,
      problem.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST,
      "pointer mode");
  a_ = layout(problem.a, problem.batch);
  b_ = layout(problem.b, problem.batch);
  c_ = layout(problem.c, problem.batch);
  find_algorithms(problem);
}

CublasLtProblem::~CublasLtProblem() {
  for (void* matrix : {a_, b_, c_}) library_.entries_.layout_destroy(matrix);
  library_.entries_.operation_destroy(operation_);
}

void* CublasLtProblem::layout(const BenchMatrix& matrix, std::int64_t batch) const {
  const auto& entry = library_.entries_;
  void* made = nullptr;
  require(entry.layout_create(&made, matrix.type, static_cast<std::uint64_t>(matrix.rows),
                              static_cast<std::uint64_t>(matrix.columns), matrix.ld),
          "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<std::int32_t>(batch);
  require(entry.layout_set(made, matrix_layout_batch_count, &count, sizeof count), "batch count");
  require(entry.layout_set(made, matrix_layout_strided_batch_offset, &matrix.stride,
                           sizeof matrix.stride),
          "batch stride");
  return made;
}

void CublasLtProblem::find_algorithms(const BenchProblem& problem) {
  const auto& entry = library_.entries_;
  void* preference = nullptr;
  require(entry.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  const auto set = [&](int attribute, auto value) {
    require(entry.preference_set(preference, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
  };
  set(matmul_pref_max_workspace_bytes, cublaslt_workspace_bytes);
  set(matmul_pref_min_alignment_a_bytes, alignment(problem.a));
  set(matmul_pref_min_alignment_b_bytes, alignment(problem.b));
  set(matmul_pref_min_alignment_c_bytes, alignment(problem.c));
  set(matmul_pref_min_alignment_d_bytes, alignment(problem.c));
  results_.resize(cublaslt_results);
  int returned = 0;
  const int status = entry.heuristic(library_.handle_, operation_, a_, b_, c_, c_, preference,
                                     cublaslt_results, results_.data(), &returned);
  entry.preference_destroy(preference);
  results_.resize(status == 0 ? static_cast<std::size_t>(returned) : 0);
  std::erase_if(results_, [](const Result& result) { return result.state != 0; });
}

void CublasLtProblem::run(int algorithm, const Pointers& at, CUstream stream) const {
  const Result& result = results_[static_cast<std::size_t>(algorithm)];
  require(
      library_.entries_.matmul(library_.handle_, operation_, at.alpha, at.a, a_, at.b, b_, at.beta,
                               at.c, c_, at.c, c_, result.algorithm, library_.workspace_->pointer(),
                               library_.workspace_->bytes(), stream),
      "cublasLtMatmul");
}

}  // namespace bwgemm::bench
