// SPDX-License-Identifier: Apache-2.0
#include "row.h"

#include <array>
#include <charconv>
#include <cmath>

namespace bwgemm::bench {

namespace {

std::string shortest(float value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

template <class Number>
std::string whole(Number number) {
  return std::to_string(number);
}

template <class Text>
std::string joined(const std::vector<Cell>& row, const char* separator, const Text& text) {
  std::string all;
  for (const Cell& cell : row) {
    if (!all.empty()) all += separator;
    all += text(cell);
  }
  return all;
}

}  // namespace

std::string fixed(double value, int decimals) {
  std::array<char, 400> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  return {digits.data(), end};
}

double tflops(const BenchProblem& problem, double microseconds) {
  return microseconds > 0 ? problem.flop() / microseconds * 1e-6 : 0;
}

std::vector<Cell> problem_cells(const BenchProblem& p) {
  const auto letter = [](bool transposed) { return std::string(transposed ? "T" : "N"); };
  return {
      {"name", p.name, true},
      {"m", whole(p.m)},
      {"n", whole(p.n)},
      {"k", whole(p.k)},
      {"transa", letter(p.transa), true},
      {"transb", letter(p.transb), true},
      {"dtype", short_name(p.a.type), true},
      {"out", short_name(p.c.type), true},
      {"alpha", shortest(p.alpha), !std::isfinite(p.alpha)},
      {"beta", shortest(p.beta), !std::isfinite(p.beta)},
      {"scalars", p.device_scalars ? "device" : "host", true},
      {"batch", whole(p.batch)},
      {"lda", whole(p.a.ld)},
      {"ldb", whole(p.b.ld)},
      {"ldc", whole(p.c.ld)},
      {"stridea", whole(p.a.stride)},
      {"strideb", whole(p.b.stride)},
      {"stridec", whole(p.c.stride)},
      {"aligna", whole(p.a.displace)},
      {"alignb", whole(p.b.displace)},
      {"alignc", whole(p.c.displace)},
      {"epilogue", epilogue_name(p.epilogue), true},
      {"gate", gate_name(p.epilogue), true},
  };
}

std::vector<Cell> row_of(const BenchProblem& p, const std::string& forced_kernel,
                         const Measurement& r) {
  std::vector<Cell> row = problem_cells(p);
  row.insert(row.begin() + 1, {"forced", forced_kernel, true});
  const std::vector<Cell> measured = {
      {"kernel", r.kernel, true},
      {"check", r.check, true},
      {"first_check", r.first_check, true},
      {"bwgemm_us", fixed(r.bwgemm_us, 3)},
      {"first_us", fixed(r.first_us, 3)},
      {"best_us", fixed(r.best_us, 3)},
      {"ratio_first", fixed(r.over_first.median, 4)},
      {"ratio_first_q1", fixed(r.over_first.low, 4)},
      {"ratio_first_q3", fixed(r.over_first.high, 4)},
      {"ratio_best", fixed(r.over_best.median, 4)},
      {"ratio_best_q1", fixed(r.over_best.low, 4)},
      {"ratio_best_q3", fixed(r.over_best.high, 4)},
      {"tflops", fixed(tflops(p, r.bwgemm_us), 1)},
      {"first_tflops", fixed(tflops(p, r.first_us), 1)},
      {"sm_mhz", whole(r.warm.sm_mhz)},
      {"end_sm_mhz", whole(r.end.sm_mhz)},
      {"watts", fixed(r.warm.watts, 0)},
      {"end_watts", fixed(r.end.watts, 0)},
      {"algorithms", whole(r.algorithms)},
      {"best_algorithm", whole(r.best_algorithm)},
      {"first_kernel", r.first_kernel, true},
      {"best_kernel", r.best_kernel, true},
      {"bwgemm_host_ns", fixed(r.bwgemm_host_ns, 0)},
      {"cublaslt_host_ns", fixed(r.cublaslt_host_ns, 0)},
      {"operand_sets", whole(r.operand_sets)},
  };
  row.insert(row.end(), measured.begin(), measured.end());
  return row;
}

std::string csv_header() {
  return csv_header(row_of({}, {}, {}));
}

std::string csv_header(const std::vector<Cell>& row) {
  return joined(row, ",", [](const Cell& cell) { return std::string(cell.column); });
}

std::string csv_row(const std::vector<Cell>& row) {
  return joined(row, ",", [](const Cell& cell) { return cell.value; });
}

std::string json_object(const std::vector<Cell>& row) {
  const auto member = [](const Cell& cell) {
    const char* quote = cell.is_text ? "\"" : "";
    return std::string(1, '"')
        .append(cell.column)
        .append("\": ")
        .append(quote)
        .append(cell.value)
        .append(quote);
  };
  return std::string(1, '{').append(joined(row, ", ", member)).append("}");
}

}  // namespace bwgemm::bench
