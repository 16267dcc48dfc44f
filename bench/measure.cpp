// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "call.h"
#include "operands.h"
#include "series.h"

namespace bwgemm::bench {

namespace {

// Nanoseconds to submit one call, the stream never waited for while timing.
double submit_ns(const Gpu& gpu, const OperandSets& operands, const Call& call) {
  constexpr int calls = 100, rounds = 5;
  double least = 1e12;
  for (int round = 0; round < rounds; ++round) {
    check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call(i % operands.sets());
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - begin;
    least = std::min(least, elapsed.count() / calls);
  }
  check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  return least;
}

int fastest(const Gpu& gpu, const OperandSets& operands, const CublasLtProblem& lt,
            const std::function<Call(int)>& call_of) {
  int best = 0;
  double best_us = 1e30;
  for (int algorithm = 0; algorithm < lt.algorithms(); ++algorithm) {
    const auto series = make_series(gpu, operands, 2, call_of(algorithm));
    const double us = std::min(series->microseconds(gpu), series->microseconds(gpu));
    if (us < best_us) {
      best = algorithm;
      best_us = us;
    }
  }
  return best;
}

}  // namespace

std::string kernel_of(const Series& series, bwgemmHandle_t handle, const BenchProblem& problem,
                      const Pointers& pointers) {
  const std::string kernel = series.graph.kernel("bwgemm_");
  return kernel.empty() ? chosen_kernel(explain(handle, problem, pointers)) : kernel;
}

std::string check_once(const Gpu& gpu, const OperandSets& operands, const Call& call,
                       Precision precision) {
  if (!operands.reads_c()) operands.poison_c(0);
  call(0);
  check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  std::string text = operands.verify(0, precision);
  operands.reset_c(0);
  return text;
}

Measurement measure(const Gpu& gpu, const Sensors& sensors, bwgemmHandle_t handle,
                    const CublasLt* cublaslt, const BenchProblem& problem,
                    const MeasureOptions& options) {
  Measurement result;
  const OperandSets operands(gpu, problem);
  result.operand_sets = operands.sets();
  bwgemmSetPointerMode(
      handle, problem.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST);
  const Call ours = [&](int set) { run_bwgemm(handle, problem, operands.pointers(set)); };

  // Outside of any capture: there the first call measures, where BWGEMM_TUNE says so.
  if (options.check)
    result.check = check_once(gpu, operands, ours, Precision::of_bwgemm);
  else
    ours(0);

  if (!options.time) {
    const Series once(gpu, operands, 1, ours);
    result.kernel = kernel_of(once, handle, problem, operands.pointers(0));
    return result;
  }

  const auto our_series = make_series(gpu, operands, options.graph_ms, ours);
  result.kernel = kernel_of(*our_series, handle, problem, operands.pointers(0));
  std::optional<CublasLtProblem> lt;
  if (cublaslt != nullptr && problem.k > 0) lt.emplace(*cublaslt, gpu, problem);
  std::unique_ptr<Series> first, best;
  if (lt && lt->algorithms() > 0) {
    const std::function<Call(int)> call_of = [&](int algorithm) -> Call {
      return [&, algorithm](int set) { lt->run(algorithm, operands.pointers(set)); };
    };
    if (options.check && problem.epilogue.any())
      result.first_check = check_once(gpu, operands, call_of(0), Precision::of_others);
    result.algorithms = lt->algorithms();
    if (!options.only_first) result.best_algorithm = fastest(gpu, operands, *lt, call_of);
    first = make_series(gpu, operands, options.graph_ms, call_of(0));
    if (result.best_algorithm != 0)
      best = make_series(gpu, operands, options.graph_ms, call_of(result.best_algorithm));
    result.first_kernel = first->graph.kernel("");
    result.best_kernel = best ? best->graph.kernel("") : result.first_kernel;
    if (options.host_cost) result.cublaslt_host_ns = submit_ns(gpu, operands, call_of(0));
  }
  if (options.host_cost) result.bwgemm_host_ns = submit_ns(gpu, operands, ours);
  static_cast<Paired&>(result) = time_in_pairs(gpu, sensors, options.pairs, options.warm_ms,
                                               *our_series, first.get(), best.get());
  return result;
}

}  // namespace bwgemm::bench
