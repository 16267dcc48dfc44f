// SPDX-License-Identifier: Apache-2.0
// BenchProblem: one product to check and time, in the column-major terms of the C API; and the
// readers of problem lists (CSV, one row a problem) and of one problem given as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bwgemm/bwgemm.h"

namespace bwgemm::bench {

struct BenchProblem {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  bool transa = false, transb = false;
  bwgemmDataType_t input = BWGEMM_R_16BF, output = BWGEMM_R_16BF;
  float beta = 0;
  std::int64_t batch = 1;
  std::string unsupported;  // why it cannot be run yet; empty if it can

  std::int64_t lda() const { return transa ? k : m; }
  std::int64_t ldb() const { return transb ? n : k; }
  std::int64_t ldc() const { return m; }
  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batch);
  }
};

std::int64_t size_bytes(bwgemmDataType_t type);
const char* short_name(bwgemmDataType_t type);

// Letters and sizes of a list are in the row-major view (D[M,N], transA N: A stored [M,K]); with
// `column_major` they are the C API's. Throws std::runtime_error naming file and line.
std::vector<BenchProblem> read_problem_list(const std::string& path, bool column_major);

// "m=512,n=512,k=512,transa=N,transb=T,dtype=bf16,out=bf16,batch=1,beta=0": all but m, n, k
// optional.
BenchProblem parse_problem(const std::string& text, bool column_major);

}  // namespace bwgemm::bench
