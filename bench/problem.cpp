// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

#include "fields.h"

namespace bwgemm::bench {

namespace {

// Of the lists, and not served yet.
const std::set<std::string> later_types = {"fp8_e4m3", "fp8_e5m2", "fp8_e4m3_blk128", "mxfp8_e4m3"};

constexpr std::int64_t base_alignment = 256;

bool is_transposed(const Fields& fields, const std::string& key) {
  const std::string letter = fields.text(key, "N");
  if (letter != "N" && letter != "T")
    throw std::runtime_error(key + " is '" + letter + "' but must be N or T");
  return letter == "T";
}

bool in_device_memory(const Fields& fields) {
  const std::string where = fields.text("scalars", "host");
  if (where != "host" && where != "device")
    throw std::runtime_error("scalars is '" + where + "' but must be host or device");
  return where == "device";
}

// A type that is not served yet leaves `fallback` and is reported.
bwgemmDataType_t type_of(const Fields& fields, const char* key, bwgemmDataType_t fallback,
                         std::string& unsupported) {
  const std::string text = fields.text(key, short_name(fallback));
  if (text == "bf16") return BWGEMM_R_16BF;
  if (text == "fp16" || text == "f16") return BWGEMM_R_16F;
  if (text == "fp32" || text == "f32") return BWGEMM_R_32F;
  if (!later_types.contains(text))
    throw std::runtime_error(std::string(key) + " is '" + text + "' but must be bf16, f16 or f32");
  unsupported = "type " + text;
  return fallback;
}

void read_types(const Fields& fields, BenchProblem& problem) {
  std::string& unsupported = problem.unsupported;
  const bwgemmDataType_t input = type_of(fields, "dtype", BWGEMM_R_16BF, unsupported);
  const bwgemmDataType_t output = type_of(fields, "out", input, unsupported);
  problem.a.type = problem.b.type = input;
  problem.c.type = output;
  if (!unsupported.empty()) return;
  if (input == BWGEMM_R_32F)
    unsupported = "inputs of f32";
  else if (output != input && output != BWGEMM_R_32F)
    unsupported =
        std::string("inputs of ") + short_name(input) + " with an output of " + short_name(output);
}

// With beta, which some epilogues are about. `gated`: the size that a gate halves.
void read_epilogue(const Fields& fields, const char* gated, BenchProblem& problem) {
  const std::string name = fields.text("epilogue", "none");
  const bool is_beta1 = name == "beta1";
  const BenchEpilogue epilogue = parse_epilogue(is_beta1 ? "none" : name, fields.text("gate", ""));
  problem.epilogue = epilogue;
  problem.beta = is_beta1 ? 1 : fields.single("beta", epilogue.residual ? 1.0f : 0.0f);
  if (epilogue.residual && problem.beta == 0)
    throw std::runtime_error("beta is 0 but epilogue " + name + " adds beta * C");
  if (epilogue.gate == BWGEMM_GATE_NONE) return;
  if (problem.beta != 0)
    throw std::runtime_error("beta is " + fields.text("beta", "") + " but must be 0 with a gate");
  if (problem.m % 2 != 0)
    throw std::runtime_error(std::string(gated) + " is " + std::to_string(problem.m) +
                             " but must be even with a gate");
}

// Whether indices could exceed what the arithmetic here can hold.
bool is_too_large(const BenchMatrix& matrix, std::int64_t batch) {
  const auto length = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  return length(matrix.ld, matrix.columns) > 0x1p58 || length(matrix.stride, batch) > 0x1p58;
}

// Leading dimension, stride and alignment, for sizes and type that are known.
void read_storage(const Fields& fields, const std::string& letter, std::int64_t batch,
                  BenchMatrix& matrix) {
  const auto at_least = [&](const std::string& key, std::int64_t value, std::int64_t least) {
    if (value < least)
      throw std::runtime_error(key + " is " + std::to_string(value) + " but must be at least " +
                               std::to_string(least));
  };
  const std::int64_t dense = std::max<std::int64_t>(1, matrix.rows);
  matrix.ld = fields.whole("ld" + letter, dense);
  at_least("ld" + letter, matrix.ld, dense);
  if (is_too_large(matrix, batch)) throw std::runtime_error(letter + " is too large");
  matrix.stride = fields.whole("stride" + letter, matrix.ld * matrix.columns);
  at_least("stride" + letter, matrix.stride, 0);
  if (is_too_large(matrix, batch)) throw std::runtime_error(letter + " is too large");
  matrix.displace = fields.whole("align" + letter, 0);
  if (matrix.displace < 0 || matrix.displace >= base_alignment ||
      matrix.displace % size_bytes(matrix.type) != 0)
    throw std::runtime_error("align" + letter + " is " + std::to_string(matrix.displace) +
                             " but must be below 256 and a multiple of the element's " +
                             std::to_string(size_bytes(matrix.type)) + " bytes");
}

std::int64_t read_size(const Fields& fields, const std::string& key) {
  const std::int64_t size = fields.required_whole(key);
  if (size < 0) throw std::runtime_error(key + " is " + std::to_string(size) + ", less than 0");
  return size;
}

BenchProblem from_fields(const Fields& fields, bool column_major) {
  BenchProblem problem;
  problem.name = fields.text("name", problem.name);
  if (problem.name.find_first_of(",\"\\") != std::string::npos)
    throw std::runtime_error("the name may not contain commas, quotes and backslashes");
  // Row-major D = op(A) op(B) is column-major D^T = op(B)^T op(A)^T on the same memory, where a
  // row-major matrix already reads as its transpose: operands swap and letters stay.
  const std::string a = column_major ? "a" : "b", b = column_major ? "b" : "a";
  problem.m = read_size(fields, column_major ? "m" : "n");
  problem.n = read_size(fields, column_major ? "n" : "m");
  problem.k = read_size(fields, "k");
  problem.batch = fields.text("batch", "").empty() ? 1 : read_size(fields, "batch");
  problem.transa = is_transposed(fields, "trans" + a);
  problem.transb = is_transposed(fields, "trans" + b);
  problem.alpha = fields.single("alpha", problem.alpha);
  problem.device_scalars = in_device_memory(fields);
  read_types(fields, problem);
  read_epilogue(fields, column_major ? "m" : "n", problem);

  const auto shape = [](BenchMatrix& matrix, bool transposed, std::int64_t rows,
                        std::int64_t columns) {
    matrix.rows = transposed ? columns : rows;
    matrix.columns = transposed ? rows : columns;
  };
  shape(problem.a, problem.transa, problem.m, problem.k);
  shape(problem.b, problem.transb, problem.k, problem.n);
  const bool is_gated = problem.epilogue.gate != BWGEMM_GATE_NONE;
  shape(problem.c, false, is_gated ? problem.m / 2 : problem.m, problem.n);
  read_storage(fields, a, problem.batch, problem.a);
  read_storage(fields, b, problem.batch, problem.b);
  read_storage(fields, "c", problem.batch, problem.c);
  return problem;
}

std::string canonical(const std::string& text) {
  const std::string key = lower_case(text);
  return key == "out_dtype" ? "out" : key;
}

}  // namespace

const char* const problem_keys =
    "m n k transa transb dtype out batch alpha beta scalars lda ldb ldc stridea strideb stridec "
    "aligna alignb alignc epilogue gate name source";

std::int64_t size_bytes(bwgemmDataType_t type) {
  return type == BWGEMM_R_32F ? 4 : 2;
}

const char* short_name(bwgemmDataType_t type) {
  switch (type) {
    case BWGEMM_R_32F: return "f32";
    case BWGEMM_R_16F: return "f16";
    default: return "bf16";
  }
}

std::vector<BenchProblem> read_problem_list(const std::string& path, bool column_major) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<BenchProblem> problems;
  std::vector<std::string> header;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::vector<std::string> cells = split(line, ',');
    if (cells[0].starts_with('#') || (cells.size() == 1 && cells[0].empty())) continue;
    if (header.empty()) {
      for (const std::string& cell : cells) header.push_back(canonical(cell));
      continue;
    }
    try {
      if (cells.size() != header.size())
        throw std::runtime_error(std::to_string(cells.size()) + " cells below a header of " +
                                 std::to_string(header.size()));
      Fields fields;
      for (std::size_t i = 0; i < cells.size(); ++i) fields.set(problem_keys, header[i], cells[i]);
      problems.push_back(from_fields(fields, column_major));
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (problems.empty()) throw std::runtime_error("no problem in " + path);
  return problems;
}

BenchProblem problem_of_result(const Table& table, std::size_t row) {
  try {
    return from_fields(table.fields(row, problem_keys), true);
  } catch (const std::exception& error) {
    throw std::runtime_error(table.path() + ": " + error.what());
  }
}

BenchProblem parse_problem(const std::string& text, bool column_major) {
  try {
    Fields fields;
    for (const std::string& part : split(text, ',')) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos) throw std::runtime_error("'" + part + "' is not key=value");
      fields.set(problem_keys, canonical(part.substr(0, equals)), part.substr(equals + 1));
    }
    return from_fields(fields, column_major);
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("--problem: ") + error.what());
  }
}

}  // namespace bwgemm::bench
