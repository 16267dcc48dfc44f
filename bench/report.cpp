// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "row.h"

namespace bwgemm::bench {

namespace {

std::FILE* open_file(const std::string& path, const char* mode) {
  if (path.empty()) return nullptr;
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  return file;
}

bool is_wrong(const std::string& check) {
  return check != "ok" && check != "not run";
}

// A row of an older file by the columns of today, of which that had fewer: nothing was fused, and
// cuBLASLt not checked.
std::string row_of_older(const Table& older, std::size_t row) {
  std::vector<Cell> cells = row_of({}, {}, {});
  for (Cell& cell : cells)
    if (older.has(cell.column)) cell.value = older.text(row, cell.column);
  return csv_row(cells);
}

std::string key(const BenchProblem& problem, const std::string& forced_kernel) {
  return problem.name + "," + forced_kernel;
}

template <class Lines, class Ratio>
double geometric_mean(const Lines& lines, const Ratio& ratio) {
  double logs = 0;
  for (const auto& line : lines) logs += std::log(ratio(line));
  return std::exp(logs / static_cast<double>(lines.size()));
}

}  // namespace

Report::Report(const std::string& csv, const std::string& json, bool resume, std::size_t total)
    : total_(total) {
  if (resume)
    rewrite_csv(csv, csv_header());
  else if (csv_ = open_file(csv, "w"); csv_ != nullptr)
    std::fprintf(csv_, "%s\n", csv_header().c_str());
  json_ = open_file(json, "w");
  if (json_ != nullptr) std::fputs("[\n", json_);
  if (total_ > 1) std::printf("%18s", "");
  std::printf("%-34s %-46s %9s %9s %9s %7s %7s %7s %4s %4s  %s\n", "problem", "kernel", "bwgemm us",
              "first us", "best us", "/first", "/best", "TFLOP/s", "MHz", "W", "check");
}

Report::~Report() {
  if (csv_ != nullptr) std::fclose(csv_);
  if (json_ != nullptr) {
    std::fputs("\n]\n", json_);
    std::fclose(json_);
  }
}

// Keeps its complete rows; a row without its end was cut off and is measured again.
void Report::rewrite_csv(const std::string& csv, const std::string& header) {
  std::vector<std::string> rows;
  if (std::filesystem::exists(csv)) {
    const Table existing = Table::read(csv, true);
    for (const char* column : {"name", "forced", "best_us"})
      if (existing.rows() > 0 && !existing.has(column))
        throw std::runtime_error(csv + " has no column " + column + " and cannot be resumed");
    for (std::size_t row = 0; row < existing.rows(); ++row) {
      rows.push_back(row_of_older(existing, row));
      done_.insert(existing.text(row, "name") + "," + existing.text(row, "forced"));
    }
  }
  csv_ = open_file(csv, "w");
  std::fprintf(csv_, "%s\n", header.c_str());
  for (const std::string& row : rows) std::fprintf(csv_, "%s\n", row.c_str());
  std::fflush(csv_);
}

double Report::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void Report::begin_line() {
  ++count_;
  if (total_ <= 1) return;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "[%zu/%zu] %.1f s", count_, total_, seconds());
  std::printf("%-17s ", text.data());
}

bool Report::resumes(const BenchProblem& problem, const std::string& forced_kernel) {
  const bool done = done_.contains(key(problem, forced_kernel));
  if (done) ++count_;
  return done;
}

void Report::add(const BenchProblem& p, const std::string& forced_kernel, const Measurement& r) {
  begin_line();
  if (r.bwgemm_us == 0)
    std::printf("%-34s %-46s not timed, result: %s\n", p.name.c_str(), r.kernel.c_str(),
                r.check.c_str());
  else
    std::printf("%-34s %-46s %9.2f %9.2f %9.2f %7.3f %7.3f %7.1f %4u %4.0f  %s\n", p.name.c_str(),
                r.kernel.c_str(), r.bwgemm_us, r.first_us, r.best_us, r.over_first.median,
                r.over_best.median, tflops(p, r.bwgemm_us), r.warm.sm_mhz, r.warm.watts,
                r.check.c_str());
  if (total_ <= 1 && r.warm.sm_mhz != 0)
    std::printf(
        "SM clock and power under load: %u MHz %.0f W when warm, %u MHz %.0f W at the end\n",
        r.warm.sm_mhz, r.warm.watts, r.end.sm_mhz, r.end.watts);
  std::fflush(stdout);
  lines_.push_back({p.name, r.kernel, r.bwgemm_us, r.over_first.median, r.over_best.median});
  if (is_wrong(r.check)) wrong_.push_back(p.name + ", " + r.kernel + ": " + r.check);
  if (is_wrong(r.first_check)) wrong_.push_back(p.name + ", cuBLASLt's first: " + r.first_check);
  const std::vector<Cell> row = row_of(p, forced_kernel, r);
  if (csv_ != nullptr) {
    std::fprintf(csv_, "%s\n", csv_row(row).c_str());
    std::fflush(csv_);
  }
  if (json_ != nullptr) {
    std::fprintf(json_, "%s%s", json_empty_ ? "" : ",\n", json_object(row).c_str());
    json_empty_ = false;
  }
}

void Report::skip(const BenchProblem& problem, const std::string& why) {
  begin_line();
  std::printf("%-34s not run: %s\n", problem.name.c_str(), why.c_str());
  std::fflush(stdout);
}

void Report::fail(const BenchProblem& problem, const std::string& why) {
  begin_line();
  std::printf("%-34s FAILED: %s\n", problem.name.c_str(), why.c_str());
  std::fflush(stdout);
  wrong_.push_back(problem.name + ": " + why);
}

std::vector<Report::Line> Report::fastest() const {
  std::vector<Line> best;
  for (const Line& line : lines_) {
    const auto same = std::find_if(
        best.begin(), best.end(), [&](const Line& other) { return other.problem == line.problem; });
    if (same == best.end())
      best.push_back(line);
    else if (line.microseconds < same->microseconds)
      *same = line;
  }
  return best;
}

void Report::summarize(std::size_t kernels) const {
  std::vector<Line> lines = kernels > 1 ? fastest() : lines_;
  if (total_ > 1) std::printf("%zu of %zu measured in %.1f s\n", lines_.size(), total_, seconds());
  if (kernels > 1)
    for (const Line& line : lines)
      std::printf("fastest     %-34s %-46s %9.2f us\n", line.problem.c_str(), line.kernel.c_str(),
                  line.microseconds);
  // Those for which cuBLASLt has an algorithm.
  std::erase_if(lines, [](const Line& line) { return !(line.over_best > 0); });
  if (total_ > 1 && !lines.empty()) {
    const auto over_first = [](const Line& line) { return line.over_first; };
    const auto over_best = [](const Line& line) { return line.over_best; };
    std::printf("cuBLASLt's time over ours, geometric mean of %zu: %.3f first, %.3f best\n",
                lines.size(), geometric_mean(lines, over_first), geometric_mean(lines, over_best));
    const auto worst = std::min_element(
        lines.begin(), lines.end(),
        [](const Line& left, const Line& right) { return left.over_best < right.over_best; });
    std::printf("worst       %s, %s: %.3f first, %.3f best\n", worst->problem.c_str(),
                worst->kernel.c_str(), worst->over_first, worst->over_best);
  }
  for (const std::string& text : wrong_) std::printf("WRONG       %s\n", text.c_str());
}

}  // namespace bwgemm::bench
