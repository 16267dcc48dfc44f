// SPDX-License-Identifier: Apache-2.0
// Grids of one stream that may overlap: who may begin, who goes on, and what one must not have done
// before it waited for the others.
#include <algorithm>

#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {
namespace {

const Program& program_of(const LaunchRequest& request) {
  const Program* program = request.module ? request.module->program(request.kernel) : nullptr;
  if (!program) throw LaunchError("no such kernel: " + request.kernel);
  return *program;
}

class Chain {
 public:
  Chain(std::span<const Grid> grids, GlobalMemory& memory) : grids_(grids), memory_(memory) {}

  std::vector<std::vector<Finding>> run() {
    while (over_ < grids_.size()) {
      if (can_begin()) begin();
      const std::size_t count = started_.size() - over_;
      const std::size_t i = over_ + (count > 1 ? random_() % count : 0);
      constexpr std::uint32_t for_ever = ~0u;
      const bool is_alone = started_.size() == grids_.size() && count == 1;
      started_[i]->advance(is_alone ? for_ever : 1u << random_() % 8);
      // They count as over in their order, as a stream has it.
      while (over_ < started_.size() && started_[over_]->is_over()) end_first();
    }
    std::vector<std::vector<Finding>> findings(grids_.size());
    for (std::size_t i = 0; i < started_.size(); ++i) findings[i] = started_[i]->finish();
    return findings;
  }

 private:
  // Nobody has to begin as soon as it may.
  bool can_begin() {
    if (started_.size() == grids_.size()) return false;
    if (started_.size() == over_) return true;
    return started_.back()->lets_dependents_begin() && random_() % 2 == 0;
  }

  void begin() {
    const Grid& grid = grids_[started_.size()];
    if (started_.empty()) random_.seed(static_cast<std::mt19937::result_type>(grid.request.seed));
    started_.push_back(std::make_unique<Simulation>(program_of(grid.request), grid.request, memory_,
                                                    grid.options));
    if (started_.size() == 1) return;
    started_.back()->set_prerequisites();
    if (over_ + 1 == started_.size()) started_.back()->prerequisites_are_over();
  }

  void end_first() {
    Simulation& ended = *started_[over_++];
    for (std::size_t i = 0; i + 1 < over_; ++i) ended.judge_early_accesses(*started_[i]);
    const bool failed = std::any_of(
        ended.finish().begin(), ended.finish().end(),
        [](const Finding& finding) { return finding.severity == Finding::Severity::error; });
    if (failed)
      over_ = grids_.size();
    else if (over_ < started_.size())
      started_[over_]->prerequisites_are_over();
  }

  std::span<const Grid> grids_;
  GlobalMemory& memory_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Simulation>> started_;
  std::size_t over_ = 0;
};

}  // namespace

std::vector<std::vector<Finding>> run_dependent(std::span<const Grid> grids, GlobalMemory& memory) {
  return Chain(grids, memory).run();
}

std::vector<Finding> run(const LaunchRequest& request, GlobalMemory& memory,
                         const RunOptions& options) {
  const Grid grid{request, options};
  return run_dependent({&grid, 1}, memory)[0];
}

}  // namespace bwgemm::vgpu
