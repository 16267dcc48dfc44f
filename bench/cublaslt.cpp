// SPDX-License-Identifier: Apache-2.0
#include "cublaslt.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace bwgemm::bench {

namespace {

// Values of the enumerators in cublasLt.h, by their names there.
constexpr int matmul_desc_transa = 3;
constexpr int matmul_desc_transb = 4;
constexpr int matrix_layout_batch_count = 5;
constexpr int matrix_layout_strided_batch_offset = 6;
constexpr int matmul_pref_max_workspace_bytes = 1;
constexpr int compute_32f = 68;
constexpr int real_32f = 0;

void require(int status, const char* call) {
  if (status != 0)
    throw std::runtime_error(std::string(call) + " returned status " + std::to_string(status));
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
    : library_(library), beta_(problem.beta) {
  const auto& entry = library.entries_;
  require(entry.operation_create(&operation_, compute_32f, real_32f), "cublasLtMatmulDescCreate");
  const int transa = problem.transa ? BWGEMM_OP_T : BWGEMM_OP_N;
  const int transb = problem.transb ? BWGEMM_OP_T : BWGEMM_OP_N;
  require(entry.operation_set(operation_, matmul_desc_transa, &transa, sizeof transa), "transa");
  require(entry.operation_set(operation_, matmul_desc_transb, &transb, sizeof transb), "transb");
  const auto rows_columns = [](bool transposed, std::int64_t rows, std::int64_t columns) {
    return transposed ? std::pair{columns, rows} : std::pair{rows, columns};
  };
  const auto [a_rows, a_columns] = rows_columns(problem.transa, problem.m, problem.k);
  const auto [b_rows, b_columns] = rows_columns(problem.transb, problem.k, problem.n);
  a_ = layout(problem.input, a_rows, a_columns, problem.lda(), problem.batch);
  b_ = layout(problem.input, b_rows, b_columns, problem.ldb(), problem.batch);
  c_ = layout(problem.output, problem.m, problem.n, problem.ldc(), problem.batch);

  void* preference = nullptr;
  require(entry.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  const std::size_t workspace = cublaslt_workspace_bytes;
  require(entry.preference_set(preference, matmul_pref_max_workspace_bytes, &workspace,
                               sizeof workspace),
          "cublasLtMatmulPreferenceSetAttribute");
  results_.resize(cublaslt_results);
  int returned = 0;
  const int status = entry.heuristic(library.handle_, operation_, a_, b_, c_, c_, preference,
                                     cublaslt_results, results_.data(), &returned);
  entry.preference_destroy(preference);
  results_.resize(status == 0 ? static_cast<std::size_t>(returned) : 0);
  std::erase_if(results_, [](const Result& result) { return result.state != 0; });
}

CublasLtProblem::~CublasLtProblem() {
  for (void* matrix : {a_, b_, c_}) library_.entries_.layout_destroy(matrix);
  library_.entries_.operation_destroy(operation_);
}

void* CublasLtProblem::layout(bwgemmDataType_t type, std::int64_t rows, std::int64_t columns,
                              std::int64_t ld, std::int64_t batch) const {
  const auto& entry = library_.entries_;
  void* made = nullptr;
  require(entry.layout_create(&made, type, static_cast<std::uint64_t>(rows),
                              static_cast<std::uint64_t>(columns), ld),
          "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = ld * columns;
  require(entry.layout_set(made, matrix_layout_batch_count, &count, sizeof count), "batch count");
  require(entry.layout_set(made, matrix_layout_strided_batch_offset, &stride, sizeof stride),
          "batch stride");
  return made;
}

void CublasLtProblem::run(int algorithm, const void* a, const void* b, void* c,
                          CUstream stream) const {
  const Result& result = results_[static_cast<std::size_t>(algorithm)];
  require(library_.entries_.matmul(library_.handle_, operation_, &alpha_, a, a_, b, b_, &beta_, c,
                                   c_, c, c_, result.algorithm, library_.workspace_->pointer(),
                                   library_.workspace_->bytes(), stream),
          "cublasLtMatmul");
}

}  // namespace bwgemm::bench
