// SPDX-License-Identifier: Apache-2.0
#include "plan/sums.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "core/tiling.h"

namespace bwgemm {
namespace {

// Of CTAs that share no unit there are enough when every multiprocessor has some.
constexpr int enough_units_per_sm = 4;
constexpr std::int64_t most_ctas = std::int64_t{1} << 30;

struct Summand {
  const Matrix& matrix;
  std::int64_t rows, columns;
};

Summand summand(const Problem& problem) {
  switch (problem.sums.of) {
    case Summed::a: return {problem.a, problem.m, problem.k};
    case Summed::b: return {problem.b, problem.k, problem.n};
    case Summed::nothing:
    case Summed::d: break;
  }
  return {problem.d, problem.m, d_columns(problem)};
}

}  // namespace

SumsPlan make_sums_plan(const Problem& problem, const SumsContext& context) {
  SumsPlan plan;
  const Sums& sums = problem.sums;
  if (!sums.any()) return plan;
  const auto [matrix, rows, columns] = summand(problem);
  const std::int64_t outputs = sums.of_rows ? rows : columns;
  const std::int64_t terms = sums.of_rows ? columns : rows;
  const std::int64_t slice = sums::slice_terms(terms);
  const std::int64_t slices = ceil_div(terms, slice);
  const std::int64_t units = ceil_div(outputs, sums::unit_outputs);
  if (units > most_ctas / problem.batch)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("biasGradient has ", outputs, " elements in each of ", problem.batch,
                     " batches; supported are at most 2^36 in all"));

  const std::int64_t units_of_all = units * problem.batch;
  const std::int64_t bytes =
      units_of_all * slices * sums::unit_outputs * std::int64_t{sizeof(float)};
  const std::int64_t sms = usable_sms(context.facts, context.sm_limit);
  const bool is_shared = slices > 1 && units_of_all < enough_units_per_sm * sms &&
                         static_cast<std::size_t>(bytes) <= context.workspace_bytes;
  const std::int64_t parts = is_shared ? slices : 1;
  // Fewer CTAs than SMs never share one.
  const std::int64_t allowed = sms < context.facts.sm_count ? sms : most_ctas;
  plan.grid = static_cast<int>(std::min(units_of_all * parts, allowed));
  plan.arch = context.facts.arch();
  plan.workspace_bytes = is_shared ? static_cast<std::size_t>(bytes) : 0;
  plan.arrivals = is_shared ? static_cast<std::size_t>(units_of_all) : 0;

  SumsParams& params = plan.params;
  std::memset(static_cast<void*>(&params), 0, sizeof params);  // padding too, as in other plans
  params.matrix = matrix.data;
  params.to = const_cast<void*>(sums.to.data);  // const for the sake of vectors that are read
  params.ld = matrix.ld;
  params.batch_stride = problem.is_pointer_array ? 0 : matrix.batch_stride;
  params.to_batch_stride = sums.to.batch_stride;
  params.outputs = outputs;
  params.terms = terms;
  params.slice = slice;
  params.slices = static_cast<std::uint32_t>(slices);
  params.parts = static_cast<std::uint32_t>(parts);
  params.slices_per_part = static_cast<std::uint32_t>(slices / parts);
  params.units = static_cast<std::uint32_t>(units);
  params.batch = static_cast<std::uint32_t>(problem.batch);
  params.terms_lie_together = sums.of_rows == (matrix.order == Order::row);
  params.is_pointer_array = problem.is_pointer_array && terms > 0;  // which is read else
  params.type = matrix.type;
  params.to_type = sums.to.type;
  return plan;
}

KernelShape sums_shape() {
  KernelShape shape{};
  shape.threads = sums::threads;
  return shape;
}

}  // namespace bwgemm
