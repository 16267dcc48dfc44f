// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/schedule.h"

#include <algorithm>

#include "vgpu/driver/context.h"
#include "vgpu/driver/launch.h"

namespace bwgemm::vgpu::driver {

Ticket Scheduler::submit(Context& context, Work work, std::span<const Ticket> after) {
  auto operation = std::make_shared<Operation>(context, std::move(work));
  for (const Ticket& earlier : after) {
    if (earlier == nullptr || earlier->is_done()) continue;
    auto& known = operation->predecessors_;
    if (std::find(known.begin(), known.end(), earlier.get()) != known.end()) continue;
    known.push_back(earlier.get());
    earlier->successors_.push_back(operation);
  }
  if (operation->predecessors_.empty()) ready_.push_back(operation);
  ++context.pending;
  return operation;
}

void Scheduler::finish(const Ticket& ticket) {
  if (ticket != nullptr && !ticket->is_done()) run_until(ticket);
}

void Scheduler::finish_all_of(const Context& context) {
  while (context.pending > 0) run(pick(false));
}

void Scheduler::pass_time() {
  for (std::size_t count = 1 + below(3); count > 0 && !ready_.empty(); --count) run(pick(false));
}

// Half of the waits run nothing but what they wait for, so that everything else comes as late as it
// can; the others run whatever comes.
void Scheduler::run_until(const Ticket& ticket) {
  only_needed_ = below(2) == 0;
  if (only_needed_) mark_needed(*ticket);
  while (!ticket->is_done()) run(pick(only_needed_));
  only_needed_ = false;
}

void Scheduler::mark_needed(Operation& operation) {
  std::vector<Operation*> open{&operation};
  while (!open.empty()) {
    Operation* next = open.back();
    open.pop_back();
    if (next->is_needed_) continue;
    next->is_needed_ = true;
    open.insert(open.end(), next->predecessors_.begin(), next->predecessors_.end());
  }
}

std::size_t Scheduler::pick(bool only_needed) {
  if (!only_needed) return below(ready_.size());
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < ready_.size(); ++i)
    if (ready_[i]->is_needed_) needed.push_back(i);
  return needed[below(needed.size())];
}

// A kernel launched with programmatic stream serialization joins the one it depends on, if it
// depends on nothing else. Never to do so would be allowed, too.
std::vector<Ticket> Scheduler::overlapping(const Ticket& first) {
  std::vector<Ticket> chain{first};
  while (chain.back()->work_.kernel && below(8) != 0) {
    const auto& next = chain.back()->successors_;
    const auto joins = [&](const Ticket& other) {
      return other->work_.kernel && other->work_.kernel->is_programmatic &&
             other->predecessors_.size() == 1 && (!only_needed_ || other->is_needed_);
    };
    const auto found = std::find_if(next.begin(), next.end(), joins);
    if (found == next.end()) break;
    chain.push_back(*found);
  }
  return chain;
}

void Scheduler::run(std::size_t ready_index) {
  const Ticket operation = std::move(ready_[ready_index]);
  ready_[ready_index] = std::move(ready_.back());
  ready_.pop_back();

  Context& context = *operation->context_;
  const std::vector<Ticket> chain = overlapping(operation);
  for (const Ticket& running : chain) running->is_running_ = true;
  // What follows a fault in its context never runs, but counts as done so that waits end.
  if (context.error == CUDA_SUCCESS) try {
      std::vector<const KernelWork*> kernels;
      for (const Ticket& running : chain)
        if (running->work_.kernel) kernels.push_back(running->work_.kernel.get());
      if (!kernels.empty()) run_kernels(kernels);
      if (operation->work_.body) operation->work_.body();
    } catch (const Failure& failure) {
      context.error = failure.result;
    }
  for (const Ticket& running : chain) end(*running);
}

void Scheduler::end(Operation& operation) {
  operation.work_ = nullptr;
  operation.is_done_ = true;
  operation.finished_at_ = Operation::Clock::now();
  --operation.context_->pending;
  for (Ticket& next : operation.successors_) {
    std::erase(next->predecessors_, &operation);
    if (next->predecessors_.empty() && !next->is_running_) ready_.push_back(std::move(next));
  }
  operation.successors_.clear();
}

}  // namespace bwgemm::vgpu::driver
