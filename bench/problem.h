// SPDX-License-Identifier: Apache-2.0
// BenchProblem: one product to check and time, with every argument of the C API it is called with;
// and the readers of problem lists (CSV, one row a problem) and of one problem given as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bwgemm/bwgemm.h"
#include "epilogue.h"
#include "table.h"

namespace bwgemm::bench {

std::int64_t size_bytes(bwgemmDataType_t type);
const char* short_name(bwgemmDataType_t type);

// A matrix as stored: `columns` columns of `rows` elements. Lengths are in elements.
struct BenchMatrix {
  bwgemmDataType_t type = BWGEMM_R_16BF;
  std::int64_t rows = 0, columns = 0;
  std::int64_t ld = 1;        // between columns
  std::int64_t stride = 0;    // between batches; 0 repeats the matrix
  std::int64_t displace = 0;  // bytes from a 256-byte boundary to the first element

  std::int64_t index(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return batch * stride + column * ld + row;
  }
  // From the first element to the last, gaps included.
  std::int64_t span(std::int64_t batches) const {
    return rows > 0 && columns > 0 ? index(batches - 1, rows - 1, columns - 1) + 1 : 0;
  }
};

struct BenchProblem {
  std::string name = "problem";
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  bool transa = false, transb = false;
  BenchMatrix a, b;
  // What is written, D; and what beta times is added, unless the epilogue says otherwise.
  BenchMatrix c;
  float alpha = 1, beta = 0;
  bool device_scalars = false;  // alpha and beta are read from device memory
  BenchEpilogue epilogue;
  std::string unsupported;  // why it cannot be run yet; empty if it can

  // What the epilogue reads; without rows where it reads none.
  BenchMatrix residual() const { return epilogue.residual ? c : BenchMatrix{}; }
  BenchMatrix aux() const { return epilogue.derivative ? c : BenchMatrix{}; }
  BenchMatrix bias() const {
    if (!epilogue.bias) return {};
    return {.type = c.type, .rows = m, .columns = 1, .ld = m, .stride = m};
  }

  bool empty() const { return m == 0 || n == 0 || batch == 0; }
  double flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batch);
  }
};

// Letters and sizes of a list are in the row-major view (D[M,N], transA N: A stored [M,K]); with
// `column_major` they are the C API's. The keys of parse_problem are the columns. Throws
// std::runtime_error naming file and line.
std::vector<BenchProblem> read_problem_list(const std::string& path, bool column_major);

// "m=512,n=512,k=512,transb=T": key=value pairs; the keys are those of problem_keys. Throws
// std::runtime_error naming the key.
BenchProblem parse_problem(const std::string& text, bool column_major);

// A problem's cells of a result file (row.h), which are in the C API's terms; its other columns are
// skipped. Throws std::runtime_error naming the file.
BenchProblem problem_of_result(const Table& table, std::size_t row);

extern const char* const problem_keys;

}  // namespace bwgemm::bench
