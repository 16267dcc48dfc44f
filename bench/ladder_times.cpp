// SPDX-License-Identifier: Apache-2.0
#include "ladder_times.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>

#include "call.h"
#include "cublaslt.h"
#include "ladder.h"
#include "operands.h"
#include "regret.h"
#include "row.h"
#include "series.h"

namespace bwgemm::bench {

namespace {

constexpr std::int64_t small = 512;  // m, n and k of the check with whole numbers

// What is timed: a row of the result, and how to submit it.
struct Contender {
  std::size_t row;
  Call call;
  std::unique_ptr<Series> series;
  std::vector<double> us;
};

void check_small(const Gpu& gpu, const Ladder& ladder, std::vector<LadderRow>& rows) {
  const WholeNumberProduct product(small, small, small, 1);
  for (const ladder::Step& step : ladder::steps) {
    LadderRow row{.name = step.name,
                  .technique = step.technique,
                  .kernel = std::string("ladder_") + step.name,
                  .reading = {}};
    try {
      row.check = product.check(gpu, ladder, step);
    } catch (const std::exception& error) {
      row.check = error.what();
    }
    rows.push_back(row);
  }
}

void sample(const Gpu& gpu, const MeasureOptions& options, std::vector<Contender>& contenders) {
  const Series& warming = *contenders.back().series;
  for (double ms = 0; ms < options.warm_ms;) ms += warming.microseconds(gpu) * warming.calls * 1e-3;
  for (int round = 0; round < options.pairs; ++round)
    for (Contender& contender : contenders)
      contender.us.push_back(contender.series->microseconds(gpu));
}

// All steps, bwgemm's choice and cuBLASLt's on the same operands.
class Race {
 public:
  Race(const Gpu& gpu, const Ladder& ladder, const LadderOptions& options)
      : gpu_(gpu),
        ladder_(ladder),
        options_(options),
        problem_(parse_problem(sizes(options.size), false)),
        operands_(gpu, problem_),
        handle_(gpu.stream()) {}

  void run(const Sensors& sensors, std::vector<LadderRow>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) add_step(ladder::steps[i], i, rows);
    add_bwgemm(rows);
    add_cublaslt(rows);
    if (contenders_.empty()) return;
    sample(gpu_, options_.measure, contenders_);
    for (const Contender& contender : contenders_) {
      LadderRow& row = rows[contender.row];
      row.us = percentile(contender.us, 0.5);
      row.tflops = tflops(problem_, row.us);
      row.reading = under_load(gpu_, sensors, *contender.series);
    }
  }

 private:
  static std::string sizes(int size) {
    const std::string text = std::to_string(size);
    return "m=" + text + ",n=" + text + ",k=" + text + ",transb=T";
  }

  void add(std::size_t row, const Call& call) {
    contenders_.push_back(
        {row, call, make_series(gpu_, operands_, options_.measure.graph_ms, call), {}});
  }

  // The problem is the C API's: its A is the ladder's B.
  void add_step(const ladder::Step& step, std::size_t row, std::vector<LadderRow>& rows) {
    if (rows[row].check != "ok") return;
    const Call call = [this, &step](int set) {
      const Pointers at = operands_.pointers(set);
      const auto address = [](const void* pointer) {
        return reinterpret_cast<CUdeviceptr>(pointer);
      };
      ladder_.launch(step, {options_.size, options_.size, options_.size, address(at.b),
                            address(at.a), address(at.c)});
    };
    rows[row].check = check_once(gpu_, operands_, call, Precision::of_bwgemm);
    if (rows[row].check == "ok") add(row, call);
  }

  void add_bwgemm(std::vector<LadderRow>& rows) {
    const Call call = [this](int set) {
      run_bwgemm(handle_.get(), problem_, operands_.pointers(set));
    };
    LadderRow row{.name = "bwgemm",
                  .technique = "what it chooses",
                  .kernel = chosen_kernel(explain(handle_.get(), problem_, operands_.pointers(0))),
                  .reading = {}};
    row.check = check_once(gpu_, operands_, call, Precision::of_bwgemm);
    rows.push_back(row);
    add(rows.size() - 1, call);
  }

  void add_cublaslt(std::vector<LadderRow>& rows) {
    std::string why_not = "not asked for";
    if (options_.compare) library_ = CublasLt::open(why_not);
    if (library_ == nullptr) {
      std::printf("without cuBLASLt: %s\n", why_not.c_str());
      return;
    }
    products_.emplace(*library_, gpu_, problem_);
    if (products_->algorithms() == 0) return;
    rows.push_back({.name = "cuBLASLt", .technique = "first result", .kernel = "", .reading = {}});
    add(rows.size() - 1, [this](int set) { products_->run(0, operands_.pointers(set)); });
  }

  const Gpu& gpu_;
  const Ladder& ladder_;
  const LadderOptions& options_;
  BenchProblem problem_;
  OperandSets operands_;
  Handle handle_;
  std::unique_ptr<CublasLt> library_;
  std::optional<CublasLtProblem> products_;
  std::vector<Contender> contenders_;
};

void print(const std::vector<LadderRow>& rows) {
  for (const LadderRow& row : rows) {
    std::printf("%-8s ", row.name.c_str());
    if (row.us > 0)
      std::printf("%8.1f TFLOP/s %9.1f us %5u MHz %4.0f W  ", row.tflops, row.us,
                  row.reading.sm_mhz, row.reading.watts);
    std::printf("%s  %s\n", row.check.c_str(), row.technique.c_str());
  }
}

}  // namespace

std::vector<LadderRow> climb(const Gpu& gpu, const Sensors& sensors, const LadderOptions& options) {
  for (const ladder::Step& step : ladder::steps)
    if (const char* why =
            ladder::invalid_because(step.shape, options.size, options.size, options.size))
      throw std::runtime_error(std::string("--size: step ") + step.name + ": " + why);
  const Ladder ladder(gpu);
  std::vector<LadderRow> rows;
  check_small(gpu, ladder, rows);
  if (options.measure.time && !gpu.is_virtual()) Race(gpu, ladder, options).run(sensors, rows);
  print(rows);
  return rows;
}

bool all_good(const std::vector<LadderRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const LadderRow& row) {
    return row.check == "ok" || row.check == "not run";
  });
}

std::string ladder_csv(const std::vector<LadderRow>& rows, int size) {
  std::string text;
  for (const LadderRow& row : rows) {
    const std::vector<Cell> cells = {
        {"name", row.name},
        {"kernel", row.kernel},
        {"size", std::to_string(size)},
        {"check", row.check},
        {"us", fixed(row.us, 2)},
        {"tflops", fixed(row.tflops, 1)},
        {"sm_mhz", std::to_string(row.reading.sm_mhz)},
        {"watts", fixed(row.reading.watts, 0)},
    };
    if (text.empty()) text = csv_header(cells) + "\n";
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
