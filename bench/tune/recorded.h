// SPDX-License-Identifier: Apache-2.0
// RecordedCall: a kind of call as the log of libbwgemm_cublas.so has it, which bwgemm would serve;
// and the operands that it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dropin/call.h"
#include "problem.h"
#include "table.h"

namespace bwgemm::bench {

struct RecordedCall {
  std::string key;      // the cells of dropin::chosen_columns
  dropin::Call call{};  // without pointers; alpha is 1
  bool has_device_scalars = false, adds_c = false;
  int math_mode = 0;
  std::int64_t workspace = 0;  // bytes; 0: the program gave none
  int sm_count_target = 0;
  std::optional<cublasLtMatmulAlgo_t> algo;  // that the program gave cuBLASLt
  std::int64_t alignment = 16;
  std::int64_t count = 0;  // how often it was called

  // A name for people: the function and the sizes.
  std::string name() const;
};

// What a log says of calls that bwgemm would serve, or served. Lines that differ in `calls` and
// `process` only are one. Those that take most arithmetic together come first. Throws
// std::runtime_error.
std::vector<RecordedCall> recorded_calls(const Table& log);

// The file of cuBLAS that the first process of the log had; "": not known.
std::string recorded_library(const Table& log);

// The call's operands, as OperandSets lays them out: A and B as stored, D as C; a vector of biases
// or bias gradients as the bias; an aux matrix as the derivative's. Throws std::runtime_error if C
// is read and has another form than D.
BenchProblem operands_of(const RecordedCall& recorded);

}  // namespace bwgemm::bench
