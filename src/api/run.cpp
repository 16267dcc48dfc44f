// SPDX-License-Identifier: Apache-2.0
#include "api/run.h"

#include <array>
#include <cstring>

#include "api/log.h"
#include "api/options.h"
#include "core/text.h"
#include "launch/enqueue_order.h"
#include "launch/launch.h"

namespace bwgemm {
namespace {

// A part as it is launched: calls of other threads may move the part itself meanwhile.
class Launches {
 public:
  explicit Launches(const Part& part) : count_(part.steps().size()), steps_(part.step_array()) {
    std::memcpy(params_, part.params(), part.bytes());
  }

  std::size_t count() const { return count_; }
  const Step& step(std::size_t i) const { return steps_[i]; }
  const void* params(std::size_t i) const { return params_ + steps_[i].params_at; }

 private:
  std::size_t count_;
  std::array<Step, Part::most_steps> steps_;
  alignas(64) std::byte params_[Part::most_bytes];
};

// Records the last use of scratch at its end, however many of the launches succeeded.
class LastUse {
 public:
  LastUse(const Driver& driver, const Scratch& scratch, CUstream stream)
      : driver_(driver), event_(scratch.last_use), stream_(stream) {}
  ~LastUse() {
    // What fails here has failed in the launches too: the context is lost.
    if (event_ != nullptr) static_cast<void>(driver_.cuEventRecord(event_, stream_));
  }
  LastUse(const LastUse&) = delete;
  LastUse& operator=(const LastUse&) = delete;

 private:
  const Driver& driver_;
  CUevent event_;
  CUstream stream_;
};

// Whether the step's kernel may start during the tail of the kernel ahead. `is_behind_short`: the
// kernel ahead lets this one start before its CTAs are gone, see is_short().
bool overlaps(const Handle& handle, const Step& step, bool is_behind_short) {
  const int setting = handle.programmatic_launch;
  if (setting == programmatic_launch_always && step.overlap == Overlap::as_set) return true;
  const bool has_room = usable_sms(handle.facts, handle.sm_count_target) >= handle.facts.sm_count;
  if (!has_room) return false;
  if (step.overlap == Overlap::wherever_it_fits) return true;
  if (setting != programmatic_launch_where_faster) return setting == programmatic_launch_always;
  // No Blackwell was measured. There, a CTA takes tensor memory before it waits.
  return handle.facts.arch() == Arch::sm90 && (step.is_short || !is_behind_short);
}

void launch_all(Handle& handle, const Launches& launches, const Scratch& scratch) {
  // Loaded before the first launch: what fails then has launched nothing.
  std::array<const LoadedKernel*, Part::most_steps> kernels;
  for (std::size_t i = 0; i < launches.count(); ++i)
    kernels[i] = &handle.kernels.get(launches.step(i).kernel);
  const CUstream stream = handle.stream.stream();
  const EnqueueOrder order(scratch.partials);
  const LastUse last_use(handle.driver, scratch, stream);
  for (std::size_t i = 0; i < launches.count(); ++i) {
    const Step& step = launches.step(i);
    log(Level::trace, [&] {
      return text(kernels[i]->name.view(), ", grid ", step.grid, ", cluster ", step.cluster, ", ",
                  step.threads, " threads, ", step.smem_bytes, " bytes of shared memory");
    });
    launch(handle.driver, *kernels[i], step, launches.params(i), stream,
           overlaps(handle, step, handle.is_behind_short.load()));
    handle.is_behind_short.store(step.is_short);
  }
}

Scratch scratch_for(Handle& handle, const Program& program, void* memory, Values& values) {
  const Scratch scratch = handle.scratch(program.need, memory);
  values.set(Argument::workspace, scratch.partials);
  values.set(Argument::counters, scratch.arrivals);
  return scratch;
}

}  // namespace

void run(Handle& handle, ProgramCache::Found& found, Values&& values, void* memory) {
  Program& program = **found.program;
  const std::size_t count = program.parts.size();
  // The program may be replaced while the lock is not held.
  const std::shared_ptr<Program> kept =
      program.uses_scratch || count > 1 ? *found.program : nullptr;
  Scratch scratch;
  if (program.uses_scratch) {
    found.lock.unlock();  // scratch may have to be allocated: calls of other kinds do not wait
    scratch = scratch_for(handle, program, memory, values);
    found.lock.lock();
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) found.lock.lock();
    Part& part = program.parts[i];
    part.move_to(values, handle.maps);
    const Launches launches(part);
    found.lock.unlock();
    launch_all(handle, launches, scratch);
  }
}

void run(Handle& handle, Program& program, Values&& values, void* memory) {
  const Scratch scratch =
      program.uses_scratch ? scratch_for(handle, program, memory, values) : Scratch{};
  for (Part& part : program.parts) part.move_to(values, handle.maps);
  for (const Part& part : program.parts) launch_all(handle, Launches(part), scratch);
}

}  // namespace bwgemm
