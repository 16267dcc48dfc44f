// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace bwgemm::bench {

namespace {

using Fields = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string field(const Fields& fields, const char* key, const char* fallback) {
  const auto found = fields.find(key);
  return found == fields.end() || found->second.empty() ? fallback : found->second;
}

bool is_transposed(const std::string& letter) {
  if (letter == "N") return false;
  if (letter == "T") return true;
  throw std::runtime_error("operation must be N or T, not '" + letter + "'");
}

// Types that bwgemm does not take yet leave `type` alone and are reported.
void read_type(const std::string& text, bwgemmDataType_t& type, std::string& unsupported) {
  if (text == "bf16")
    type = BWGEMM_R_16BF;
  else if (text == "fp16" || text == "f16")
    type = BWGEMM_R_16F;
  else if (text == "fp32" || text == "f32")
    type = BWGEMM_R_32F;
  else
    unsupported = "type " + text;
}

BenchProblem from_fields(const Fields& fields, bool column_major) {
  BenchProblem problem;
  problem.name = field(fields, "name", "problem");
  problem.m = std::stoll(field(fields, "m", "0"));
  problem.n = std::stoll(field(fields, "n", "0"));
  problem.k = std::stoll(field(fields, "k", "0"));
  problem.transa = is_transposed(field(fields, "transa", "N"));
  problem.transb = is_transposed(field(fields, "transb", "N"));
  problem.batch = std::stoll(field(fields, "batch", "1"));
  problem.beta = std::stof(field(fields, "beta", "0"));
  read_type(field(fields, "dtype", "bf16"), problem.input, problem.unsupported);
  if (problem.unsupported.empty())
    read_type(field(fields, "out", short_name(problem.input)), problem.output, problem.unsupported);
  const std::string epilogue = field(fields, "epilogue", "none");
  if (epilogue == "beta1")
    problem.beta = 1;
  else if (epilogue != "none")
    problem.unsupported = "epilogue " + epilogue;
  if (!column_major) {
    // Row-major D = op(A) op(B) is column-major D^T = op(B)^T op(A)^T on the same memory, where a
    // row-major matrix already reads as its transpose: operands swap and letters stay.
    std::swap(problem.m, problem.n);
    std::swap(problem.transa, problem.transb);
  }
  return problem;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text == "out_dtype" ? "out" : text;
}

}  // namespace

std::int64_t size_bytes(bwgemmDataType_t type) {
  return type == BWGEMM_R_32F ? 4 : 2;
}

const char* short_name(bwgemmDataType_t type) {
  switch (type) {
    case BWGEMM_R_32F: return "fp32";
    case BWGEMM_R_16F: return "fp16";
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
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = split(line, ',');
    if (header.empty()) {
      for (const std::string& cell : cells) header.push_back(lower(cell));
      continue;
    }
    Fields fields;
    for (std::size_t i = 0; i < cells.size() && i < header.size(); ++i)
      fields[header[i]] = cells[i];
    try {
      problems.push_back(from_fields(fields, column_major));
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return problems;
}

BenchProblem parse_problem(const std::string& text, bool column_major) {
  Fields fields;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw std::runtime_error("'" + part + "' in --problem is not key=value");
    fields[lower(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return from_fields(fields, column_major);
}

}  // namespace bwgemm::bench
