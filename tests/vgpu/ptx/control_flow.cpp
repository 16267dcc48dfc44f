// SPDX-License-Identifier: Apache-2.0
// Dominators by the iterative algorithm of Cooper, Harvey and Kennedy, on the graph with its edges
// reversed and one exit that all ends of the kernel lead to.
#include "vgpu/ptx/control_flow.h"

#include <algorithm>
#include <vector>

namespace bwgemm::vgpu {
namespace {

using Flow = Instruction::Flow;
constexpr std::uint32_t unknown = ~0u;

class Graph {
 public:
  explicit Graph(Program& program) : code_(program.code) {
    cut_into_blocks();
    connect();
  }

  void set_reconvergence() {
    number_blocks();
    find_post_dominators();
    for (std::uint32_t block = 0; block < exit_; ++block) {
      code_[first_[block]].starts_block = true;
      Instruction& last = code_[last_of(block)];
      const std::uint32_t join = post_dominator_[block];
      if (last.flow == Flow::branch && last.guard >= 0 && join != unknown && join != exit_)
        last.reconvergence = first_[join];
    }
  }

 private:
  std::uint32_t last_of(std::uint32_t block) const {
    return (block + 1 < exit_ ? first_[block + 1] : static_cast<std::uint32_t>(code_.size())) - 1;
  }

  void cut_into_blocks() {
    std::vector<bool> starts(code_.size() + 1);
    starts[0] = true;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (code_[i].flow == Flow::plain) continue;
      starts[i + 1] = true;
      if (code_[i].flow == Flow::branch) starts[code_[i].target] = true;
    }
    block_of_.resize(code_.size());
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (starts[i]) first_.push_back(static_cast<std::uint32_t>(i));
      block_of_[i] = static_cast<std::uint32_t>(first_.size()) - 1;
    }
    exit_ = static_cast<std::uint32_t>(first_.size());
  }

  void connect() {
    successors_.resize(exit_ + 1);
    predecessors_.resize(exit_ + 1);
    for (std::uint32_t block = 0; block < exit_; ++block) {
      const Instruction& last = code_[last_of(block)];
      if (last.flow == Flow::branch) add_edge(block, block_of_[last.target]);
      if (last.flow == Flow::exit) add_edge(block, exit_);
      // An unguarded branch or exit does not fall through.
      if (last.flow == Flow::plain || last.guard >= 0) add_edge(block, block + 1);
    }
  }

  void add_edge(std::uint32_t from, std::uint32_t to) {
    successors_[from].push_back(to);
    predecessors_[to].push_back(from);
  }

  // Depth first from the exit against the edges; a block is numbered when all behind it are.
  void number_blocks() {
    number_.assign(exit_ + 1, unknown);
    std::vector<bool> seen(exit_ + 1);
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{exit_, 0}};
    seen[exit_] = true;
    while (!path.empty()) {
      auto& [block, next] = path.back();
      if (next < predecessors_[block].size()) {
        const std::uint32_t before = predecessors_[block][next++];
        if (seen[before]) continue;
        seen[before] = true;
        path.emplace_back(before, 0);
      } else {
        number_[block] = static_cast<std::uint32_t>(order_.size());
        order_.push_back(block);
        path.pop_back();
      }
    }
  }

  std::uint32_t common(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (number_[a] < number_[b]) a = post_dominator_[a];
      while (number_[b] < number_[a]) b = post_dominator_[b];
    }
    return a;
  }

  void find_post_dominators() {
    post_dominator_.assign(exit_ + 1, unknown);
    post_dominator_[exit_] = exit_;
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto block = order_.rbegin(); block != order_.rend(); ++block) {
        if (*block == exit_) continue;
        std::uint32_t found = unknown;
        for (const std::uint32_t after : successors_[*block]) {
          if (post_dominator_[after] == unknown) continue;
          found = found == unknown ? after : common(after, found);
        }
        if (found == post_dominator_[*block]) continue;
        post_dominator_[*block] = found;
        changed = true;
      }
    }
  }

  std::vector<Instruction>& code_;
  std::uint32_t exit_ = 0;  // number of the block behind all others
  std::vector<std::uint32_t> first_, block_of_, number_, order_, post_dominator_;
  std::vector<std::vector<std::uint32_t>> successors_, predecessors_;
};

}  // namespace

void find_reconvergence(Program& program) {
  Graph(program).set_reconvergence();
}

}  // namespace bwgemm::vgpu
