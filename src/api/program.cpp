// SPDX-License-Identifier: Apache-2.0
// Programs: kept, built and run. The cache is a set-associative table with one mutex per set.
#include "api/program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "api/handle.h"
#include "api/log.h"
#include "api/options.h"
#include "core/text.h"
#include "families/bias_gradient/step.h"
#include "families/copies/step.h"
#include "families/registry.h"
#include "families/variants.h"
#include "launch/kernels.h"

namespace bwgemm {
namespace {

// What a part is built from besides its problem.
struct Call {
  Handle& handle;
  const Values base;
  const Provenance from;
};

Part built_part(const Call& call, const Problem& problem, const Choice& choice,
                const BiasGradientLaunch& bias_gradient, Overlap first) {
  Handle& handle = call.handle;
  const Copies copies = copies_of(problem, choice.operands);
  Part part(first);
  add_copies(problem, call.from, call.base, copies, choice, handle.facts, handle.sm_count_target,
             part);
  const int split_clusters = choice.reduction == SplitReduction::cluster
                                 ? std::max(0, handle.facts.clusters.of(choice.splits))
                                 : 0;
  add_product(with_copies(problem, copies, call.base[Argument::workspace]),
              with_copies(call.from, copies), call.base,
              kernel_variants[static_cast<std::size_t>(choice.variant)], choice,
              {.facts = handle.facts,
               .sm_limit = handle.sm_count_target,
               .resident_clusters = handle.kernels.get(choice.variant).resident_clusters,
               .resident_split_clusters = split_clusters,
               .copied_bytes = copies.bytes(),
               .lets_next_start = handle.programmatic_launch == programmatic_launch_always},
              part);
  add_bias_gradient(problem, call.from, call.base, bias_gradient, part);
  return part;
}

// What the kernels of a program need of the device's memory: copies and product, and then the bias
// gradient.
ScratchNeed need_of(const Problem& problem, const Choice& choice,
                    const BiasGradientLaunch& bias_gradient, const CallSettings& call) {
  const KernelConfig& config = kernel_variants[static_cast<std::size_t>(choice.variant)];
  ScratchNeed need{.partials_bytes = workspace_bytes(problem, config, choice),
                   .partials_limit = call.workspace.usable(),
                   .arrivals = arrival_count(config, choice)};
  if (!bias_gradient.any()) return need;
  need.partials_bytes = std::max(need.partials_bytes, bias_gradient.workspace_bytes);
  need.arrivals = std::max(need.arrivals, bias_gradient.arrivals);
  return need;
}

bool uses_scratch(const Part& part) {
  const auto& relocations = part.relocations();
  return std::any_of(relocations.begin(), relocations.end(), [](const Relocation& relocation) {
    return relocation.argument == Argument::workspace || relocation.argument == Argument::counters;
  });
}

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

// Whether the step's kernel may start during the tail of the kernel ahead. `is_behind_short`: the
// kernel ahead lets this one start before it has multiplied.
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
  const ScratchUse use(handle.driver, scratch, stream);
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
  const Scratch scratch = handle.scratch.acquire(handle.stream, program.need, memory);
  values.set(Argument::workspace, scratch.partials);
  values.set(Argument::counters, scratch.arrivals);
  return scratch;
}

}  // namespace

std::optional<std::size_t> ProgramCache::way_of(const Set& set, std::uint64_t hash,
                                                const CallKey& key) {
  for (std::size_t way = 0; way < ways; ++way)
    if (set.hashes[way] == hash && set.last_use[way] != 0 && set.entries[way]->key == key)
      return way;
  return std::nullopt;
}

ProgramCache::Found ProgramCache::find(const CallKey& key) {
  const std::uint64_t hash = key.hash();
  Set& set = sets_[hash % set_count];
  std::unique_lock lock(set.mutex);
  const auto way = way_of(set, hash, key);
  if (!way) {
    ++set.counters.not_found;
    return {{}, nullptr};
  }
  ++set.counters.found;
  set.last_use[*way] = ++set.clock;
  return {std::move(lock), &set.entries[*way]->program};
}

void ProgramCache::insert(const CallKey& key, Program program, std::uint64_t generation) {
  auto entry = std::make_unique<Entry>(Entry{key, std::make_shared<Program>(std::move(program))});
  const std::uint64_t hash = key.hash();
  Set& set = sets_[hash % set_count];
  const std::lock_guard lock(set.mutex);
  if (generation != this->generation()) return;
  const auto oldest = static_cast<std::size_t>(
      std::min_element(set.last_use.begin(), set.last_use.end()) - set.last_use.begin());
  const std::size_t way = way_of(set, hash, key).value_or(oldest);
  set.entries[way] = std::move(entry);
  set.last_use[way] = ++set.clock;
  set.hashes[way] = hash;
}

ProgramCache::Counters ProgramCache::counters() const {
  Counters sum;
  for (std::size_t i = 0; i < set_count; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sum.found += sets_[i].counters.found;
    sum.not_found += sets_[i].counters.not_found;
  }
  return sum;
}

void ProgramCache::clear() {
  // First: what is inserted into a set before it is emptied goes with it, and nothing comes after.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = 0; i < set_count; ++i) {
    const std::lock_guard lock(sets_[i].mutex);
    sets_[i].last_use.fill(0);
  }
}

Program built(Handle& handle, const ValidProblem& problem, const Choice& choice,
              const CallSettings& settings) {
  const Call call{handle, values_of(problem, problem.is_exchanged),
                  provenance(problem, problem.is_exchanged)};
  const BiasGradientLaunch bias_gradient = bias_gradient_launch(
      problem, {handle.facts, handle.sm_count_target, settings.workspace.usable()});
  Program program;
  program.need = need_of(problem, choice, bias_gradient, settings);
  const int parts = choice.division.parts;
  if (parts == 1) {
    program.parts.push_back(built_part(call, problem, choice, bias_gradient, Overlap::as_set));
  } else {
    SelectOptions options = handle.select_options(settings.workspace.usable());
    options.pick = recipe_of(choice);
    for (int i = 0; i < parts; ++i) {
      const Problem part = part_of(problem, choice.division, i);
      program.parts.push_back(built_part(call, part,
                                         select(part, handle.facts, kernel_variants, options), {},
                                         Overlap::as_set_in_call));
    }
  }
  program.uses_scratch = std::any_of(program.parts.begin(), program.parts.end(), uses_scratch);
  return program;
}

void run(Handle& handle, ProgramCache::Found& found, Values& values, void* memory) {
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

void run(Handle& handle, Program& program, Values& values, void* memory) {
  const Scratch scratch =
      program.uses_scratch ? scratch_for(handle, program, memory, values) : Scratch{};
  for (Part& part : program.parts) part.move_to(values, handle.maps);
  for (const Part& part : program.parts) launch_all(handle, Launches(part), scratch);
}

}  // namespace bwgemm
