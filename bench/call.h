// SPDX-License-Identifier: Apache-2.0
// The calls of bwgemm for a BenchProblem: computing it, and asking what the library would do.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "bwgemm/bwgemm.h"
#include "problem.h"

namespace bwgemm::bench {

// What a call takes besides the problem.
struct Pointers {
  const void *a, *b;
  void* c;
  const void *alpha, *beta;  // in device memory if the problem says so and there is a handle
  // What the epilogue reads; else null.
  const void *residual = nullptr, *bias = nullptr, *aux = nullptr;
};

// What bwgemmMatmul takes besides alpha, A, B and D, for a problem with or without an epilogue.
struct MatmulCall {
  bwgemmMatmulDesc_t desc;
  const void *beta, *c;
};
MatmulCall matmul_call(const BenchProblem& problem, const Pointers& pointers);

// bwgemm answered NOT_SUPPORTED.
struct NotSupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A handle on `stream`. Throws std::runtime_error.
class Handle {
 public:
  explicit Handle(CUstream_st* stream, bool device_scalars = false);
  ~Handle() { bwgemmDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bwgemmHandle_t get() const { return handle_; }

 private:
  bwgemmHandle_t handle_ = nullptr;
};

// Forces a kernel on the handles created and explanations asked for from now on; "": none.
void force_kernel(const std::string& name);
// Likewise a number of splits of k; 0: none.
void force_splits(int splits);
// Likewise where the sums of splits are added, "memory" or "cluster"; "": where it takes less time.
void force_sums(const std::string& where);
// Likewise where kernels find operands that TMA cannot load, "in_place" or "copied"; "": where it
// takes less time, but with a forced kernel in place.
void force_operands(const std::string& where);

std::vector<std::string> kernel_names();

// Calls bwgemm once. Throws NotSupported or std::runtime_error with the last-error text.
void run_bwgemm(bwgemmHandle_t handle, const BenchProblem& problem, const Pointers& pointers);

// What bwgemmExplain says, which knows no batches: of one of them; with an epilogue, what
// bwgemmMatmulExplain says. `handle` may be null.
std::string explain(bwgemmHandle_t handle, const BenchProblem& problem, const Pointers& pointers);

// Made up, but aligned as the problem says. Scalars are in host memory.
Pointers nominal_pointers(const BenchProblem& problem);

// Without a handle, for addresses that are made up but aligned as the problem says.
std::string explain_nominally(const BenchProblem& problem);

// The first kernel that an explanation names as chosen; "" if there is none.
std::string chosen_kernel(const std::string& explanation);

// One line from the nominal explanation of a problem for which `kernel` was forced: for each device
// its launch and predicted time, or why it cannot serve.
std::string verdict(const std::string& explanation, const std::string& kernel);

}  // namespace bwgemm::bench
