// SPDX-License-Identifier: Apache-2.0
#include "families/bias_gradient/step.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "core/tiling.h"

namespace bwgemm {
namespace {

// CTAs that share no unit are enough when every multiprocessor has some of them.
constexpr int enough_units_per_sm = 4;
constexpr std::int64_t most_ctas = std::int64_t{1} << 30;

struct Summand {
  const Matrix& matrix;
  std::int64_t rows, columns;
};

Summand summand(const Problem& problem) {
  switch (problem.bias_gradient.of) {
    case Summed::a: return {problem.a, problem.m, problem.k};
    case Summed::b: return {problem.b, problem.k, problem.n};
    case Summed::nothing:
    case Summed::d: break;
  }
  return {problem.d, problem.m, d_columns(problem)};
}

}  // namespace

BiasGradientLaunch bias_gradient_launch(const Problem& problem,
                                        const BiasGradientContext& context) {
  BiasGradientLaunch launch;
  const BiasGradient& bias_gradient = problem.bias_gradient;
  if (!bias_gradient.any()) return launch;
  const auto [matrix, rows, columns] = summand(problem);
  const std::int64_t outputs = bias_gradient.of_rows ? rows : columns;
  const std::int64_t terms = bias_gradient.of_rows ? columns : rows;
  const std::int64_t chunk = bias_gradient::chunk_terms(terms);
  const std::int64_t chunks = ceil_div(terms, chunk);
  const std::int64_t units = ceil_div(outputs, bias_gradient::unit_outputs);
  if (units > most_ctas / problem.batch)
    throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
                text("biasGradient has ", outputs, " elements in each of ", problem.batch,
                     " batches; supported are at most 2^36 in all"));

  const std::int64_t units_of_all = units * problem.batch;
  const std::int64_t bytes =
      units_of_all * chunks * bias_gradient::unit_outputs * std::int64_t{sizeof(float)};
  const std::int64_t sms = usable_sms(context.facts, context.sm_limit);
  const bool is_shared = chunks > 1 && units_of_all < enough_units_per_sm * sms &&
                         static_cast<std::size_t>(bytes) <= context.workspace_bytes;
  const std::int64_t parts = is_shared ? chunks : 1;
  // Fewer CTAs than SMs never share one.
  const std::int64_t allowed = sms < context.facts.sm_count ? sms : most_ctas;
  launch.grid = static_cast<int>(std::min(units_of_all * parts, allowed));
  launch.workspace_bytes = is_shared ? static_cast<std::size_t>(bytes) : 0;
  launch.arrivals = is_shared ? static_cast<std::size_t>(units_of_all) : 0;

  BiasGradientParams& params = launch.params;
  std::memset(static_cast<void*>(&params), 0, sizeof params);  // padding too, as of other steps
  params.matrix = matrix.data;
  params.to =
      const_cast<void*>(bias_gradient.to.data);  // const for the sake of vectors that are read
  params.ld = matrix.ld;
  params.batch_stride = problem.is_pointer_array ? 0 : matrix.batch_stride;
  params.to_batch_stride = bias_gradient.to.batch_stride;
  params.outputs = outputs;
  params.terms = terms;
  params.chunk = chunk;
  params.chunks = static_cast<std::uint32_t>(chunks);
  params.parts = static_cast<std::uint32_t>(parts);
  params.chunks_per_part = static_cast<std::uint32_t>(chunks / parts);
  params.units = static_cast<std::uint32_t>(units);
  params.batch = static_cast<std::uint32_t>(problem.batch);
  params.terms_lie_together = bias_gradient.of_rows == (matrix.order == Order::row);
  params.is_pointer_array = problem.is_pointer_array && terms > 0;  // which is read else
  params.type = matrix.type;
  params.to_type = bias_gradient.to.type;
  return launch;
}

void add_bias_gradient(const Problem& problem, const Provenance& from, const Values& base,
                       const BiasGradientLaunch& launch, Part& part) {
  if (!launch.any()) return;
  BiasGradientParams params;
  std::memcpy(static_cast<void*>(&params), &launch.params, sizeof params);
  // The product is complete when this begins: its scratch is free.
  if (params.parts > 1) {
    params.partials = reinterpret_cast<float*>(base[Argument::workspace]);
    params.arrivals = reinterpret_cast<std::uint32_t*>(base[Argument::counters]);
  }
  Linker linker(part, base, &params);
  const Summed of = problem.bias_gradient.of;
  linker.address(params.matrix, of == Summed::a ? from.a : of == Summed::b ? from.b : Argument::d);
  linker.address(params.to, Argument::bias_gradient);
  linker.address(params.partials, Argument::workspace);
  linker.address(params.arrivals, Argument::counters);
  part.add(
      {bias_gradient_kernel, launch.grid, 1, bias_gradient::threads, 0, Overlap::as_set_in_call},
      &params, sizeof params);
}

}  // namespace bwgemm
