// SPDX-License-Identifier: Apache-2.0
// Narrowing to 32 bits is safe here: copies_of() has refused what does not fit.
#include "families/copies/step.h"

#include <algorithm>
#include <cstring>

#include "core/tiling.h"
#include "families/copies/params.h"

namespace bwgemm {
namespace {

constexpr std::int64_t elements_of_unit = 8;
constexpr std::int64_t element_bytes = 2;

void fill(OperandCopy& params, const Matrix& from, const Matrix& to, const CopiedLines& copied) {
  const std::int64_t line_units = ceil_div(copied.elements, elements_of_unit);
  params.from = from.data;
  params.to = const_cast<void*>(to.data);  // const for the sake of operands that are read
  params.from_ld = from.ld * element_bytes;
  params.from_batch_bytes = from.batch_stride * element_bytes;
  params.to_ld = to.ld * element_bytes;
  params.to_batch_bytes = to.batch_stride * element_bytes;
  params.lines = static_cast<std::uint32_t>(copied.lines);
  params.line_units = static_cast<std::uint32_t>(line_units);
  params.line_elements = static_cast<std::uint32_t>(copied.elements);
  params.units = static_cast<std::uint32_t>(line_units * copied.lines * copied.batches);
}

std::uint32_t pieces_of(const OperandCopy& operand) {
  return static_cast<std::uint32_t>(ceil_div(operand.units, copies::piece_units));
}

}  // namespace

void add_copies(const Problem& problem, const Provenance& from, const Values& base,
                const Copies& copies, const Choice& choice, const DeviceFacts& facts, int sm_limit,
                Part& part) {
  if (!copies.any()) return;
  CopiesParams params;
  std::memset(static_cast<void*>(&params), 0, sizeof params);  // padding too, as of other steps
  const Problem copied = with_copies(problem, copies, base[Argument::workspace]);
  if (copies.a) fill(params.operands[0], problem.a, copied.a, *copies.a);
  if (copies.b) fill(params.operands[1], problem.b, copied.b, *copies.b);
  params.first_pieces = pieces_of(params.operands[0]);
  params.pieces = params.first_pieces + pieces_of(params.operands[1]);
  params.alpha = problem.alpha.device;
  params.lets_product_start = choice.predicted_us <= longest_short_with_copies_us;
  Linker linker(part, base, &params);
  linker.address(params.operands[0].from, from.a);
  linker.address(params.operands[1].from, from.b);
  for (const OperandCopy& operand : params.operands)
    linker.address(operand.to, Argument::workspace);
  linker.address(params.alpha, Argument::alpha);
  const std::int64_t sms = usable_sms(facts, sm_limit);
  // Fewer CTAs than SMs never share one.
  const std::int64_t allowed = sms < facts.sm_count ? sms : sms * copies::ctas_per_sm;
  const auto grid = static_cast<int>(std::min<std::int64_t>(params.pieces, allowed));
  Step step{copy_kernel, grid, 1, copies::threads, 0};
  step.is_short = params.lets_product_start;
  part.add(step, &params, sizeof params);
}

Provenance with_copies(Provenance from, const Copies& copies) {
  if (copies.a) from.a = Argument::workspace;
  if (copies.b) from.b = Argument::workspace;
  return from;
}

}  // namespace bwgemm
