// SPDX-License-Identifier: Apache-2.0
#include "price.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>

#include "call.h"
#include "elementwise.h"
#include "operands.h"
#include "row.h"
#include "series.h"

namespace bwgemm::bench {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Calls on a handle with one mode, on operands of their own, and perhaps a kernel behind each.
class Side {
 public:
  Side(const Gpu& gpu, const BenchProblem& problem, bwgemmDeterminism_t mode)
      : gpu_(gpu),
        problem_(problem),
        operands_(gpu, problem),
        handle_(gpu.stream(), problem.device_scalars) {
    if (bwgemmSetDeterminism(handle_.get(), mode) != BWGEMM_STATUS_SUCCESS)
      throw std::runtime_error(bwgemmGetLastErrorString());
  }
  Side(const Gpu& gpu, const BenchProblem& problem, const SplitEpilogue& split)
      : Side(gpu, problem, BWGEMM_DETERMINISM_BITWISE) {
    gemm_ = split.gemm;
    behind_.emplace(gpu, problem, split);
  }

  std::string check() const {
    return check_once(gpu_, operands_, call(),
                      behind_ ? Precision::of_others : Precision::of_bwgemm);
  }
  std::string kernel() const {
    return kernel_of({gpu_, operands_, 1, call()}, handle_.get(), problem_, operands_.pointers(0));
  }

  void prepare(double graph_ms) { series_ = make_series(gpu_, operands_, graph_ms, call()); }
  double microseconds() {
    times_.push_back(series_->microseconds(gpu_));
    return times_.back();
  }
  double median_us() const { return median(times_); }

 private:
  Call call() const {
    return [this](int set) {
      Pointers at = operands_.pointers(set);
      if (!behind_) return run_bwgemm(handle_.get(), problem_, at);
      void* d = at.c;
      at.c = behind_->product(d);
      run_bwgemm(handle_.get(), gemm_, at);
      behind_->run(d);
    };
  }

  const Gpu& gpu_;
  const BenchProblem problem_;
  OperandSets operands_;
  Handle handle_;
  BenchProblem gemm_;  // what the handle computes before the kernel
  std::optional<Elementwise> behind_;
  std::unique_ptr<Series> series_;
  std::vector<double> times_;
};

// The product alone, as a dense matrix where a gate had halved it.
BenchProblem without_epilogue(BenchProblem problem) {
  if (problem.epilogue.gate != BWGEMM_GATE_NONE) {
    problem.c.rows = problem.c.ld = problem.m;
    problem.c.stride = problem.m * problem.n;
  }
  problem.epilogue = {};
  problem.beta = 0;
  return problem;
}

// Ratios of the others' times to the first's. Neither always runs first.
std::vector<double> sample(const MeasureOptions& options, const std::vector<Side*>& sides) {
  for (Side* side : sides) side->prepare(options.graph_ms);
  for (double ms = 0; ms < options.warm_ms;)
    ms += std::max(options.graph_ms, 1e-3 * sides.front()->microseconds());
  std::vector<std::vector<double>> ratios(sides.size());
  for (int pair = 0; pair < options.pairs; ++pair) {
    std::vector<double> us(sides.size());
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const std::size_t turn = pair % 2 == 0 ? i : sides.size() - 1 - i;
      us[turn] = sides[turn]->microseconds();
    }
    for (std::size_t i = 0; i < sides.size(); ++i) ratios[i].push_back(us[i] / us[0]);
  }
  std::vector<double> medians;
  for (const std::vector<double>& of_side : ratios) medians.push_back(median(of_side));
  return medians;
}

struct Columns {
  const char *kernel, *us;
};

Columns priced_columns(Priced priced) {
  return priced == Priced::epilogue ? Columns{"fused_kernel", "fused_us"}
                                    : Columns{"invariant_kernel", "invariant_us"};
}

}  // namespace

std::string not_priced(Priced priced, const BenchProblem& problem) {
  return priced == Priced::epilogue && !problem.epilogue.any() ? "it has no epilogue" : "";
}

Price measure_price(const Gpu& gpu, Priced priced, const BenchProblem& problem,
                    const MeasureOptions& options) {
  const bool is_epilogue = priced == Priced::epilogue;
  Side free(gpu, is_epilogue ? without_epilogue(problem) : problem, BWGEMM_DETERMINISM_BITWISE);
  Side with(gpu, problem,
            is_epilogue ? BWGEMM_DETERMINISM_BITWISE : BWGEMM_DETERMINISM_BATCH_INVARIANT);
  std::optional<Side> apart;
  if (const auto split = split_for_cublaslt(problem); is_epilogue && split && split->is_apart)
    apart.emplace(gpu, problem, *split);

  Price price{.problem = problem, .free_kernel = free.kernel(), .priced_kernel = with.kernel()};
  if (options.check && is_epilogue) {
    price.check = with.check();
    if (apart && price.check == "ok")
      if (const std::string text = apart->check(); text != "ok") price.check = "apart: " + text;
  }
  if (!options.time) return price;
  std::vector<Side*> sides = {&free, &with};
  if (apart) sides.push_back(&*apart);
  const std::vector<double> ratios = sample(options, sides);
  price.free_us = free.median_us();
  price.priced_us = with.median_us();
  price.ratio = ratios[1];
  if (apart) {
    price.apart_us = apart->median_us();
    price.apart_ratio = ratios[2];
  }
  return price;
}

bool is_good(const Price& price) {
  return price.check == "ok" || price.check == "not run";
}

std::string price_line(const Price& price) {
  std::array<char, 512> line{};
  const auto print = [&](auto... values) {
    std::snprintf(line.data(), line.size(), values...);
    return std::string(line.data());
  };
  const std::string end =
      "  " + price.priced_kernel + (price.check == "not run" ? "" : "  " + price.check) + "\n";
  std::string text = print("%-34s ", price.problem.name.c_str());
  if (price.free_us > 0)
    text +=
        print("%8.2f us free, %8.2f us with it: %.3f", price.free_us, price.priced_us, price.ratio);
  if (price.apart_us > 0)
    text += print(", %8.2f us apart: %.3f", price.apart_us, price.apart_ratio);
  return text + end;
}

std::string price_summary(const std::vector<Price>& prices) {
  double logarithms = 0, timed = 0;
  const Price* dearest = nullptr;
  for (const Price& price : prices) {
    if (!(price.ratio > 0)) continue;
    logarithms += std::log(price.ratio);
    ++timed;
    if (dearest == nullptr || price.ratio > dearest->ratio) dearest = &price;
  }
  if (dearest == nullptr) return "nothing was timed\n";
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(),
                "%.0f problems, geometric mean of the price: %.3f; largest: %.3f, %s\n", timed,
                std::exp(logarithms / timed), dearest->ratio, dearest->problem.name.c_str());
  return line.data();
}

std::string price_csv(Priced priced, const std::vector<Price>& prices) {
  const Columns columns = priced_columns(priced);
  std::string text;
  for (const Price& price : prices) {
    std::vector<Cell> cells = problem_cells(price.problem);
    std::vector<Cell> measured = {
        {"free_kernel", price.free_kernel},   {columns.kernel, price.priced_kernel},
        {"free_us", fixed(price.free_us, 3)}, {columns.us, fixed(price.priced_us, 3)},
        {"price", fixed(price.ratio, 4)},
    };
    if (priced == Priced::epilogue) {
      measured.push_back({"apart_us", fixed(price.apart_us, 3)});
      measured.push_back({"apart_price", fixed(price.apart_ratio, 4)});
      measured.push_back({"check", price.check});
    }
    cells.insert(cells.end(), measured.begin(), measured.end());
    if (text.empty()) text = csv_header(cells) + "\n";
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
