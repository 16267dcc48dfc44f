// SPDX-License-Identifier: Apache-2.0
// A launch in simulated time: what is earliest goes on. Simulation's part of the timing mode, and
// predict(), which runs a launch twice: first to count what it asks of each tensor, then with the
// part of it that comes from memory known.
#include <algorithm>

#include "vgpu/timing/timeline.h"

namespace bwgemm::vgpu {
namespace {

// Instructions without effect outside of their warp may run this far ahead of everything else.
constexpr double lead_cycles = 64;

}  // namespace

void Simulation::launch_timed(std::uint64_t number, std::uint32_t place, double at) {
  timeline_->now = at;
  launch_cluster(number, place);
}

double Simulation::cycle() const {
  return timeline_ ? timeline_->now : 0;
}

bool Simulation::keeps_memory() const {
  return timeline_ && timeline_->counts();
}

// Until it sleeps, ends, or something else is earlier.
void Simulation::run_timed(Split* split) {
  Warp& warp = *split->warp;
  warp.current = split;
  for (;;) {
    const Instruction& instruction = program_.code[split->pc];
    const double at = timeline_->issue_at(*split);
    const bool is_plain = timeline_->of(split->pc).kind == InstructionTime::plain;
    if (at > timeline_->next_at() + (is_plain ? lead_cycles : 0)) {
      timeline_->push(split, at);
      return;
    }
    timeline_->now = at;
    const bool joins =
        instruction.starts_block && split->join >= 0 && warp.joins[split->join].pc == split->pc;
    if (!joins) {
      LaneMask mask = split->mask;
      if (instruction.guard >= 0) {
        const LaneMask guard = warp.predicates[instruction.guard];
        mask &= instruction.guard_negated ? ~guard : guard;
      }
      timeline_->issue(*split);
      if (mask != 0 && !is_plain) timeline_->access(*split, instruction, mask);
    }
    if (execute_at(split)) continue;
    // Only told to let others go first.
    if (!split->dead && !split->sleeps_on && split->ready_index < 0)
      timeline_->push(split, split->time);
    return;
  }
}

void Simulation::advance_timed() {
  for (const auto& [cluster, place] : timeline_->first_clusters())
    launch_timed(cluster, place, timeline_->start_cycles());
  while (!timeline_->is_empty()) {
    if (instructions_ > options_.max_warp_instructions)
      findings_.fatal("livelock", "the budget of instructions is spent", nullptr);
    const Timeline::Event event = timeline_->pop();
    if (event.task) {
      ++async_events_;
      if (event.task->step()) {
        timeline_->start(event.task);
      } else {
        event.task->scheduled_ = false;
        tasks_.erase(std::find(tasks_.begin(), tasks_.end(), event.task));
      }
    } else {
      Cta& cta = event.split->warp->cta;
      run_timed(event.split);
      if (cta.exited) follow(cta);
    }
    if (clusters_.size() > clusters_resident_) retire_finished_clusters();
  }
  if (clusters_resident_ > 0) report_deadlock();
}

// A CTA has ended. Behind the last of its cluster the next one may begin.
void Simulation::follow(Cta& cta) {
  timeline_->end(cta);
  if (cta.cluster.live_ctas > 0) return;
  const std::uint32_t place = cta.cluster.ctas[0]->place / cluster_size_;
  if (const auto next = timeline_->next_cluster())
    launch_timed(*next, place, timeline_->now + timeline_->restart_cycles());
}

std::vector<Finding> Simulation::run_timed(std::unique_ptr<Timeline> timeline) {
  timeline_ = std::move(timeline);
  try {
    advance_timed();
  } catch (const RunEnded&) {
  }
  return finish();
}

Prediction predict(const LaunchRequest& request, GlobalMemory& memory, const Constants& constants,
                   std::uint32_t ctas_per_sm, std::vector<Finding>& findings) {
  const Program* program = request.module ? request.module->program(request.kernel) : nullptr;
  if (!program) throw LaunchError("no such kernel: " + request.kernel);
  RunOptions options;
  options.adversarial = options.clocks = options.strict = false;
  Timeline::Misses misses;
  bool samples = true;
  for (const bool counts : {true, false}) {
    Simulation simulation(*program, request, memory, options);
    auto owned =
        std::make_unique<Timeline>(*program, request, constants, ctas_per_sm,
                                   simulation.cluster_size(), counts ? nullptr : &misses, samples);
    const Timeline& timeline = *owned;
    findings = simulation.run_timed(std::move(owned));
    if (!findings.empty()) return {};
    if (!counts) {
      Prediction prediction = timeline.prediction(simulation.instructions());
      prediction.kernel = request.kernel;
      return prediction;
    }
    misses = timeline.measured_misses();
    // Who is last to arrive somewhere is known only if everybody comes.
    samples = !timeline.saw_atomics();
  }
  return {};
}

}  // namespace bwgemm::vgpu
