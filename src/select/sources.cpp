// SPDX-License-Identifier: Apache-2.0
// Problems with copied operands, and a variant judged for all sources of a call.
#include "rules/copies.h"
#include "select/candidate.h"

namespace bwgemm {

std::optional<Source> source_of(const Problem& problem, Operands operands,
                                const DeviceFacts& usable, const SelectOptions& options) {
  if (operands == Operands::in_place) return in_place(problem, options);
  const auto division = division_of(problem, operands, options.workspace_bytes);
  if (!division) return std::nullopt;
  const Problem part = part_of(problem, *division, 0);
  const Copies copies = copies_of(part, operands);
  const Problem copied = with_copies(part, copies);
  Source source{operands,
                copied,
                transposed(copied),
                options.workspace_bytes - copies.bytes(),
                copying_us(copies, usable),
                *division};
  if (division->parts > 1) {
    const Problem last = part_of(problem, *division, division->parts - 1);
    source.last = with_copies(last, copies_of(last, operands));
  }
  return source;
}

void Sources::add_copied(const Problem& problem, const DeviceFacts& usable,
                         const SelectOptions& options) {
  for (const Operands operands : {Operands::copied, Operands::copied_a, Operands::copied_b})
    if (options.forced.allows(operands))
      if (const auto source = source_of(problem, operands, usable, options)) add(*source);
}

Candidate judged(const Problem& problem, const DeviceFacts& usable, const KernelConfig& config,
                 const SelectOptions& options) {
  std::optional<Candidate> best;
  for (const Source& source : Sources(problem, usable, options)) {
    const Candidate candidate = judged(source, usable, config, options);
    const bool is_better =
        best && candidate.rejected == nullptr && candidate.weighed_us() < best->weighed_us();
    if (!best || best->rejected != nullptr || is_better) best = candidate;
  }
  return *best;
}

}  // namespace bwgemm
