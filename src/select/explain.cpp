// SPDX-License-Identifier: Apache-2.0
// The report of explain(): select() in words. Numbers are written with to_chars, so that the
// caller's locale does not show.
#include <algorithm>
#include <charconv>
#include <optional>

#include "core/epilogue_text.h"
#include "core/kernel_name.h"
#include "core/text.h"
#include "core/tiling.h"
#include "families/facts.h"
#include "rules/copies.h"
#include "select/algos.h"
#include "select/candidate.h"
#include "select/select.h"
#include "select/shortlist.h"

namespace bwgemm {
namespace {

class Report {
 public:
  Report& add(std::string_view text) {
    text_.append(text);
    return *this;
  }
  Report& add(std::int64_t number) { return add_chars(number); }
  Report& add_us(double us) { return add_chars(us, std::chars_format::fixed, 2).add(" us"); }
  // Ends the line.
  Report& end() { return add("\n"); }
  std::string take() { return std::move(text_); }

 private:
  template <class... Value>
  Report& add_chars(Value... value) {
    char digits[128];
    const std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, value...);
    return add(std::string_view(digits, static_cast<std::size_t>(result.ptr - digits)));
  }

  std::string text_;
};

void add_matrix(Report& report, std::string_view letter, const Matrix& matrix, std::int64_t batch) {
  report.add(letter).add(" ").add(name(matrix.type));
  report.add(matrix.order == Order::row ? " row ld " : " column ld ").add(matrix.ld);
  if (batch > 1) report.add(" stride ").add(matrix.batch_stride);
}

void add_scalar(Report& report, std::string_view word, const Scalar& scalar) {
  report.add(", ").add(word).add(" ");
  if (scalar.device != nullptr)
    report.add("on the device");
  else
    report.add(text(scalar.value));
}

void add_problem(Report& report, const Problem& problem) {
  report.add("problem    m ").add(problem.m).add(" n ").add(problem.n).add(" k ").add(problem.k);
  report.add(" batch ").add(problem.batch).add(" (D in row order): ");
  add_matrix(report, "A", problem.a, problem.batch);
  add_matrix(report, ", B", problem.b, problem.batch);
  add_matrix(report, ", D", problem.d, problem.batch);
  add_scalar(report, "alpha", problem.alpha);
  add_scalar(report, "beta", problem.beta);
  report.end();
  if (const std::string more = epilogue_text(problem); !more.empty())
    report.add("with       ").add(more).end();
}

void add_device(Report& report, const DeviceFacts& facts, const DeviceFacts& usable) {
  report.add("device     compute capability ").add(facts.cc_major).add(".").add(facts.cc_minor);
  report.add(", ").add(usable.sm_count).add(" of ").add(facts.sm_count).add(" SMs").end();
}

void add_copies(Report& report, const Copies& copies) {
  if (!copies.any()) return;
  report.add("copied     ").add(!copies.b ? "A" : !copies.a ? "B" : "A and B").add(" first, ");
  report.add(static_cast<std::int64_t>(copies.bytes())).add(" bytes of workspace").end();
}

void add_division(Report& report, const Division& division) {
  if (division.parts == 1) return;
  report.add("divided    into ").add(division.parts).add(" products of ").add(division.lines);
  report.add(division.of_n ? " columns" : " rows").add(", each behind its copy").end();
}

void add_choice(Report& report, const Problem& problem, const DeviceFacts& usable,
                const KernelConfig& config, const Choice& choice, bool is_measured) {
  const Problem part = part_of(problem, choice.division, 0);
  const Copies copies = copies_of(part, choice.operands);
  const Problem seen = seen_by(config, with_copies(part, copies));
  const KernelShape shape = kernel_shape(config, choice.tile_n, problem.d.type, b_major(seen));
  const TileCounts tiles = cluster_tiles(seen, config, choice.tile_n);
  report.add("kernel     ").add(kernel_name(config).view()).end();
  report.add("launch     grid ")
      .add(grid_ctas(config, work_units(tiles, choice), resident_clusters(usable, config)));
  const bool is_cluster_of_splits = choice.reduction == SplitReduction::cluster;
  report.add(", cluster ").add(is_cluster_of_splits ? choice.splits : config.cluster.size());
  report.add(", threads ").add(shape.threads);
  report.add(", shared memory ").add(shape.smem_bytes).add(", tile_n ").add(shape.tile_n);
  report.add(", stages ").add(shape.stages).add(", splits ").add(choice.splits);
  if (choice.split_tiles > 0 && choice.split_tiles < tiles.total())
    report.add(" of the last ")
        .add(choice.split_tiles)
        .add(" of ")
        .add(tiles.total())
        .add(" tiles");
  report.add(", raster_group ").add(choice.raster_group);
  if (choice.raster != Raster::grouped) report.add(", raster ").add(name(choice.raster));
  report.add(", workspace ");
  report.add(static_cast<std::int64_t>(workspace_bytes(problem, config, choice))).end();
  add_copies(report, copies);
  add_division(report, choice.division);
  report.add("predicted  ").add_us(choice.predicted_us).end();
  if (is_measured) report.add("chosen     by measurement").end();
}

void add_candidate(Report& report, const KernelConfig& config, const Candidate& candidate,
                   bool is_compared, double chosen_us) {
  report.add("other      ").add(kernel_name(config).view()).add(": ");
  if (candidate.rejected != nullptr) {
    report.add(candidate.rejected).end();
    return;
  }
  report.add_us(candidate.predicted_us);
  if (config.tile.n == 0) report.add(" with tile_n ").add(candidate.tile_n);
  if (candidate.splits > 1) report.add(" with splits ").add(candidate.splits);
  if (candidate.reduction == SplitReduction::cluster) report.add(" in clusters");
  if (candidate.operands != Operands::in_place)
    report.add(" with operands ").add(name(candidate.operands));
  if (candidate.division.parts > 1) report.add(" in ").add(candidate.division.parts).add(" parts");
  if (is_compared)
    report.add(", slower by times of such kernels");
  else if (candidate.predicted_us < chosen_us)
    report.add(", too little faster to count");
  report.end();
}

}  // namespace

std::string explain(const Problem& problem, const DeviceFacts& facts,
                    std::span<const KernelConfig> variants, const SelectOptions& options) {
  Report report;
  add_problem(report, problem);
  if (problem.empty()) return report.add("kernel     none: D has no element").end().take();
  const DeviceFacts usable = limited(facts, options);
  std::optional<Choice> choice;
  if (can_serve(problem, facts, variants, options))
    choice = select(problem, facts, variants, options);
  add_device(report, facts, usable);
  if (choice.has_value())
    add_choice(report, problem, usable, variants[static_cast<std::size_t>(choice->variant)],
               *choice, options.is_pick_measured);
  else if (options.has_pick_for(problem))
    report.add("kernel     ")
        .add(kernel_name(variants[static_cast<std::size_t>(options.pick->variant)]).view())
        .add(" is picked and cannot serve: ")
        .add(picked(problem, usable, variants, options).rejected)
        .end();
  else if (!options.forced.has_kernel())
    report.add("kernel     none can serve").end();
  else
    report.add("kernel     ").add(options.forced.kernel).add(" is forced and cannot serve").end();
  const Shortlist shortlist(problem, usable, variants, options);
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    if (choice && static_cast<int>(variant) == choice->variant) continue;
    Candidate candidate = judged(problem, usable, variants[variant], options);
    candidate.variant = static_cast<int>(variant);
    add_candidate(report, variants[variant], candidate, shortlist.has_compared(candidate),
                  choice && !options.pick ? choice->predicted_us : 0);
  }
  return report.take();
}

}  // namespace bwgemm
