// SPDX-License-Identifier: Apache-2.0
// CublasLt: the library we compare with, opened at run time so that the benchmark builds and runs
// without it. Declares the few entry points and constants it needs; problems are in API terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "call.h"
#include "elementwise.h"
#include "gpu.h"
#include "problem.h"

namespace bwgemm::bench {

inline constexpr std::size_t cublaslt_workspace_bytes = 32 << 20;
inline constexpr int cublaslt_results = 8;

class CublasLt;

// One problem's descriptors and the algorithms that the heuristic returned, best guess first: none
// if its epilogue cannot be had from cuBLASLt. What it does not fuse is done by a kernel behind it.
class CublasLtProblem {
 public:
  CublasLtProblem(const CublasLt& library, const Gpu& gpu, const BenchProblem& problem);
  ~CublasLtProblem();
  CublasLtProblem(const CublasLtProblem&) = delete;
  CublasLtProblem& operator=(const CublasLtProblem&) = delete;

  int algorithms() const { return static_cast<int>(results_.size()); }
  // On the GPU's stream.
  void run(int algorithm, const Pointers& pointers) const;

 private:
  struct Result {  // cublasLtMatmulHeuristicResult_t
    std::uint64_t algorithm[8];
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };

  void* layout(const BenchMatrix& matrix, std::int64_t batch) const;
  void describe_epilogue(const BenchProblem& gemm) const;
  template <class Value>
  void set(int attribute, const Value& value, const char* what) const;
  void find_algorithms(const BenchProblem& problem);

  const CublasLt& library_;
  const Gpu& gpu_;
  const BenchEpilogue epilogue_;
  std::optional<Elementwise> behind_;
  void* operation_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  std::vector<Result> results_;
};

class CublasLt {
 public:
  // Null if libcublasLt.so.13 cannot be opened; `why` then says so.
  static std::unique_ptr<CublasLt> open(std::string& why);
  ~CublasLt();

 private:
  friend class CublasLtProblem;
  CublasLt() = default;

  struct Entries {
    int (*create)(void**);
    int (*destroy)(void*);
    int (*operation_create)(void**, int compute_type, int scale_type);
    int (*operation_destroy)(void*);
    int (*operation_set)(void*, int attribute, const void*, std::size_t);
    int (*layout_create)(void**, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t);
    int (*layout_destroy)(void*);
    int (*layout_set)(void*, int attribute, const void*, std::size_t);
    int (*preference_create)(void**);
    int (*preference_destroy)(void*);
    int (*preference_set)(void*, int attribute, const void*, std::size_t);
    int (*heuristic)(void* handle, void* operation, void* a, void* b, void* c, void* d,
                     void* preference, int requested, void* results, int* returned);
    int (*matmul)(void* handle, void* operation, const void* alpha, const void* a, void* a_layout,
                  const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                  void* d, void* d_layout, const void* algorithm, void* workspace,
                  std::size_t workspace_bytes, CUstream stream);
  } entries_{};
  void* handle_ = nullptr;
  std::unique_ptr<DeviceBuffer> workspace_;
};

}  // namespace bwgemm::bench
