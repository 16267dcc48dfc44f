// SPDX-License-Identifier: Apache-2.0
#include "cublaslt.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

#include "bind.h"

namespace bwgemm::bench {

namespace {

// Values of the enumerators in cublasLt.h, by their names there.
constexpr int matmul_desc_pointer_mode = 2;
constexpr int matmul_desc_transa = 3;
constexpr int matmul_desc_transb = 4;
constexpr int matmul_desc_epilogue = 7;
constexpr int matmul_desc_bias_pointer = 8;
constexpr int matmul_desc_bias_batch_stride = 10;
constexpr int matmul_desc_epilogue_aux_pointer = 11;
constexpr int matmul_desc_epilogue_aux_ld = 12;
constexpr int matmul_desc_epilogue_aux_batch_stride = 13;
constexpr int matmul_desc_bias_data_type = 26;
constexpr std::uint32_t epilogue_default = 1;
constexpr std::uint32_t epilogue_relu = 2;
constexpr std::uint32_t epilogue_bias = 4;
constexpr std::uint32_t epilogue_gelu = 32;
constexpr std::uint32_t epilogue_dgelu = 64 | 128;
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

template <class Value>
void CublasLtProblem::set(int attribute, const Value& value, const char* what) const {
  require(library_.entries_.operation_set(operation_, attribute, &value, sizeof value), what);
}

CublasLtProblem::CublasLtProblem(const CublasLt& library, const Gpu& gpu,
                                 const BenchProblem& problem)
    : library_(library), gpu_(gpu), epilogue_(problem.epilogue) {
  const std::optional<SplitEpilogue> split = split_for_cublaslt(problem);
  if (!split) return;
  if (split->is_apart) behind_.emplace(gpu, problem, *split);
  const BenchProblem& gemm = split->gemm;
  require(library.entries_.operation_create(&operation_, compute_32f, real_32f),
          "cublasLtMatmulDescCreate");
  const auto letter = [](bool transposed) {
    return static_cast<std::int32_t>(transposed ? BWGEMM_OP_T : BWGEMM_OP_N);
  };
  set(matmul_desc_transa, letter(gemm.transa), "transa");
  set(matmul_desc_transb, letter(gemm.transb), "transb");
  set(matmul_desc_pointer_mode,
      static_cast<std::int32_t>(gemm.device_scalars ? BWGEMM_POINTER_MODE_DEVICE
                                                    : BWGEMM_POINTER_MODE_HOST),
      "pointer mode");
  describe_epilogue(gemm);
  a_ = layout(gemm.a, gemm.batch);
  b_ = layout(gemm.b, gemm.batch);
  c_ = layout(gemm.c, gemm.batch);
  find_algorithms(gemm);
}

CublasLtProblem::~CublasLtProblem() {
  for (void* matrix : {a_, b_, c_})
    if (matrix != nullptr) library_.entries_.layout_destroy(matrix);
  if (operation_ != nullptr) library_.entries_.operation_destroy(operation_);
}

// The vector of biases runs along the rows of D, as ours does.
void CublasLtProblem::describe_epilogue(const BenchProblem& gemm) const {
  const BenchEpilogue& epilogue = gemm.epilogue;
  std::uint32_t code = epilogue.bias ? epilogue_bias : 0;
  if (epilogue.activation == BWGEMM_ACTIVATION_RELU) code |= epilogue_relu;
  if (epilogue.activation == BWGEMM_ACTIVATION_GELU_TANH)
    code |= epilogue.derivative ? epilogue_dgelu : epilogue_gelu;
  set(matmul_desc_epilogue, code != 0 ? code : epilogue_default, "epilogue");
  // The heuristic judges alignment by addresses. Those of the calls are as good.
  const Pointers nominal = nominal_pointers(gemm);
  if (epilogue.bias) {
    const BenchMatrix bias = gemm.bias();
    set(matmul_desc_bias_pointer, nominal.bias, "bias pointer");
    set(matmul_desc_bias_data_type, static_cast<std::int32_t>(bias.type), "bias type");
    if (gemm.batch > 1) set(matmul_desc_bias_batch_stride, bias.stride, "bias stride");
  }
  if (epilogue.derivative) {
    const BenchMatrix aux = gemm.aux();
    set(matmul_desc_epilogue_aux_pointer, nominal.aux, "aux pointer");
    set(matmul_desc_epilogue_aux_ld, aux.ld, "aux ld");
    if (gemm.batch > 1) set(matmul_desc_epilogue_aux_batch_stride, aux.stride, "aux stride");
  }
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
  const auto prefer = [&](int attribute, auto value) {
    require(entry.preference_set(preference, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(matmul_pref_max_workspace_bytes, cublaslt_workspace_bytes);
  prefer(matmul_pref_min_alignment_a_bytes, alignment(problem.a));
  prefer(matmul_pref_min_alignment_b_bytes, alignment(problem.b));
  prefer(matmul_pref_min_alignment_c_bytes, alignment(problem.c));
  prefer(matmul_pref_min_alignment_d_bytes, alignment(problem.c));
  results_.resize(cublaslt_results);
  int returned = 0;
  const int status = entry.heuristic(library_.handle_, operation_, a_, b_, c_, c_, preference,
                                     cublaslt_results, results_.data(), &returned);
  entry.preference_destroy(preference);
  results_.resize(status == 0 ? static_cast<std::size_t>(returned) : 0);
  std::erase_if(results_, [](const Result& result) { return result.state != 0; });
}

void CublasLtProblem::run(int algorithm, const Pointers& at) const {
  const Result& result = results_[static_cast<std::size_t>(algorithm)];
  if (epilogue_.bias) set(matmul_desc_bias_pointer, at.bias, "bias pointer");
  if (epilogue_.derivative) set(matmul_desc_epilogue_aux_pointer, at.aux, "aux pointer");
  void* d = behind_ ? behind_->product(at.c) : at.c;
  require(library_.entries_.matmul(library_.handle_, operation_, at.alpha, at.a, a_, at.b, b_,
                                   at.beta, epilogue_.residual ? at.residual : d, c_, d, c_,
                                   result.algorithm, library_.workspace_->pointer(),
                                   library_.workspace_->bytes(), gpu_.stream()),
          "cublasLtMatmul");
  if (behind_) behind_->run(at.c);
}

}  // namespace bwgemm::bench
