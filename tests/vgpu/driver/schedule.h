// SPDX-License-Identifier: Apache-2.0
// Scheduler: work that was put into streams and waits for its turn. Nothing runs before somebody
// waits for something; then operations run in a seeded random order that respects the dependencies
// stated by callers and nothing else.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace bwgemm::vgpu::driver {

struct Context;
struct KernelWork;

// What an operation does; nothing: it only orders others. A kernel is not a function, because
// several may run together.
struct Work {
  Work() = default;
  Work(std::nullptr_t) {}
  Work(std::shared_ptr<const KernelWork> of) : kernel(std::move(of)) {}
  template <std::invocable Body>
  Work(Body of) : body(std::move(of)) {}

  std::function<void()> body;
  std::shared_ptr<const KernelWork> kernel;
};

class Operation {
 public:
  using Clock = std::chrono::steady_clock;

  Operation(Context& context, Work work) : context_(&context), work_(std::move(work)) {}

  bool is_done() const { return is_done_; }
  Clock::time_point finished_at() const { return finished_at_; }

 private:
  friend class Scheduler;

  Context* context_;
  Work work_;
  std::vector<Operation*> predecessors_;  // not done yet
  std::vector<std::shared_ptr<Operation>> successors_;
  bool is_done_ = false;
  bool is_needed_ = false;  // by the wait under way
  bool is_running_ = false;
  Clock::time_point finished_at_{};
};

using Ticket = std::shared_ptr<Operation>;  // null: nothing to wait for

class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : random_(seed) {}
  void seed(std::uint64_t seed) { random_.seed(seed); }

  Ticket submit(Context& context, Work work, std::span<const Ticket> after);

  // Returns once the operation is done; others may or may not have run by then.
  void finish(const Ticket& ticket);
  void finish_all_of(const Context& context);
  // Time goes by: runs a few operations, at least one if any waits.
  void pass_time();

 private:
  static void mark_needed(Operation& operation);
  void run_until(const Ticket& ticket);
  void run(std::size_t ready_index);
  // The operation and the kernels that may begin before their predecessor ends, and now do.
  std::vector<Ticket> overlapping(const Ticket& first);
  void end(Operation& operation);
  std::size_t pick(bool only_needed);
  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::mt19937_64 random_;
  bool only_needed_ = false;   // runs now
  std::vector<Ticket> ready_;  // what waits for nothing; owns, through successors, all that waits
};

}  // namespace bwgemm::vgpu::driver
