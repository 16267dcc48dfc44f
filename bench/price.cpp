// SPDX-License-Identifier: Apache-2.0
#include "price.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "call.h"
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

// Calls on a handle with one mode.
class Side {
 public:
  Side(const Gpu& gpu, const Operands& operands, const BenchProblem& problem,
       bwgemmDeterminism_t mode, double graph_ms)
      : gpu_(gpu), handle_(gpu.stream(), problem.device_scalars) {
    if (bwgemmSetDeterminism(handle_.get(), mode) != BWGEMM_STATUS_SUCCESS)
      throw std::runtime_error(bwgemmGetLastErrorString());
    series_ = make_series(gpu, operands, graph_ms, [&](int set) {
      run_bwgemm(handle_.get(), problem, operands.pointers(set));
    });
  }

  std::string kernel() const { return series_->graph.kernel("bwgemm_"); }
  double microseconds() {
    times_.push_back(series_->microseconds(gpu_));
    return times_.back();
  }
  double median_us() const { return median(times_); }

 private:
  const Gpu& gpu_;
  Handle handle_;
  std::unique_ptr<Series> series_;
  std::vector<double> times_;
};

}  // namespace

Price measure_price(const Gpu& gpu, const BenchProblem& problem, const MeasureOptions& options) {
  const Operands operands(gpu, problem);
  Side free(gpu, operands, problem, BWGEMM_DETERMINISM_BITWISE, options.graph_ms);
  Side invariant(gpu, operands, problem, BWGEMM_DETERMINISM_BATCH_INVARIANT, options.graph_ms);
  for (double ms = 0; ms < options.warm_ms;)
    ms += std::max(options.graph_ms, 1e-3 * free.microseconds());
  std::vector<double> ratios;
  for (int pair = 0; pair < options.pairs; ++pair) {
    // Neither side always runs first.
    const double before = pair % 2 == 0 ? free.microseconds() : 0;
    const double of_invariant = invariant.microseconds();
    const double of_free = pair % 2 == 0 ? before : free.microseconds();
    ratios.push_back(of_invariant / of_free);
  }
  return {problem,          free.kernel(),         invariant.kernel(),
          free.median_us(), invariant.median_us(), median(ratios)};
}

std::string price_line(const Price& price) {
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(), "%-34s %8.2f us free, %8.2f us invariant: %.3f  %s\n",
                price.problem.name.c_str(), price.free_us, price.invariant_us, price.ratio,
                price.invariant_kernel.c_str());
  return line.data();
}

std::string price_summary(const std::vector<Price>& prices) {
  double logarithms = 0;
  for (const Price& price : prices) logarithms += std::log(price.ratio);
  const double mean =
      prices.empty() ? 1 : std::exp(logarithms / static_cast<double>(prices.size()));
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "%zu problems, geometric mean of the price: %.3f\n",
                prices.size(), mean);
  return line.data();
}

std::string price_csv(const std::vector<Price>& prices) {
  std::string text;
  for (const Price& price : prices) {
    std::vector<Cell> cells = problem_cells(price.problem);
    const std::vector<Cell> measured = {
        {"free_kernel", price.free_kernel},   {"invariant_kernel", price.invariant_kernel},
        {"free_us", fixed(price.free_us, 3)}, {"invariant_us", fixed(price.invariant_us, 3)},
        {"price", fixed(price.ratio, 4)},
    };
    cells.insert(cells.end(), measured.begin(), measured.end());
    if (text.empty()) text = csv_header(cells) + "\n";
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
