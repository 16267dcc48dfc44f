// SPDX-License-Identifier: Apache-2.0
#include "api/multiply.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <optional>

#include "api/bench_command.h"
#include "api/log.h"
#include "api/plan_cache.h"
#include "api/tune.h"
#include "core/text.h"
#include "kernels/rows.h"
#include "launch/enqueue_order.h"
#include "launch/launch.h"

namespace bwgemm {
namespace {

std::string described(const Plan& plan) {
  const KernelName name = kernel_name(kernel_rows[static_cast<std::size_t>(plan.row)]);
  return text(name.view(), ", grid ", plan.grid, ", cluster ", plan.cluster, ", ",
              plan.shape.threads, " threads, ", plan.shape.smem_bytes, " bytes of shared memory");
}

std::string described(const SumsPlan& plan) {
  return text(sums::kernel_name(plan.arch).view(), ", grid ", plan.grid, ", ", sums::threads,
              " threads");
}

std::string described(const CopiesPlan& plan) {
  return text(copies::kernel_name(plan.arch).view(), ", grid ", plan.grid, ", ", copies::threads,
              " threads");
}

// What a call, or a part of one, launches, one kernel after the other.
struct Launches {
  Plan plan;
  CopiesPlan copies;
  SumsPlan sums;
  bool are_of_parts;  // of a call, which may have others in front of these

  explicit Launches(const KnownPlan& known)
      : plan(known.plan), are_of_parts(known.choice.division.parts > 1) {
    if (known.copies.any()) copies = known.copies;
    if (known.sums.any()) sums = known.sums;
  }
};

bool splits(const Plan& plan) {
  return plan.params.splits > 1 && !plan.params.sums_in_cluster;
}

bool shares(const SumsPlan& sums) {
  return sums.any() && sums.params.parts > 1;
}

// Null where the launches use none.
template <class Plans>
Scratch scratch_for(Handle& handle, const Plans& plans, const ScratchNeed& need, void* memory) {
  const bool uses_scratch = plans.copies.any() || splits(plans.plan) || shares(plans.sums);
  return uses_scratch ? handle.scratch(need, memory) : Scratch{};
}

// Copies lie in front of the product's partial sums. The sums' kernel begins when the product is
// complete: it may have the same scratch.
void give(const Scratch& scratch, Launches& launches) {
  const std::size_t copied = launches.copies.any() ? launches.copies.bytes : 0;
  if (splits(launches.plan)) {
    launches.plan.params.partials = scratch.partials + copied / sizeof(float);
    launches.plan.params.arrivals = scratch.arrivals;
  }
  if (shares(launches.sums)) {
    launches.sums.params.partials = scratch.partials;
    launches.sums.params.arrivals = scratch.arrivals;
  }
}

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

template <class Plan>
void launch_one(const Handle& handle, const LoadedKernel& kernel, const Plan& plan, bool overlaps) {
  log(Level::trace, [&] { return described(plan); });
  launch(handle.driver, kernel, plan, handle.stream.stream(), overlaps);
}

void launch_all(Handle& handle, Launches& launches, const Scratch& scratch) {
  // Loaded before the first launch: what fails then has launched nothing.
  const LoadedKernel* const copy = launches.copies.any() ? &handle.kernels.get_copy() : nullptr;
  const LoadedKernel* const sums = launches.sums.any() ? &handle.kernels.get_sums() : nullptr;
  const LoadedKernel& product = handle.kernels.get(launches.plan.row);
  // Kernels of one call may overlap if there are multiprocessors for both.
  const bool is_limited = usable_sms(handle.facts, handle.sm_count_target) < handle.facts.sm_count;
  const bool overlaps_own = handle.programmatic_launch != 0 && !is_limited;
  const bool overlaps_first =
      launches.are_of_parts ? overlaps_own : handle.programmatic_launch != 0;
  const EnqueueOrder order(scratch.partials);
  const LastUse last_use(handle.driver, scratch, handle.stream.stream());
  give(scratch, launches);
  if (copy != nullptr) {
    launches.copies.params.alpha = launches.plan.params.alpha.device;
    launch_one(handle, *copy, launches.copies, overlaps_first);
  }
  launch_one(handle, product, launches.plan, copy != nullptr ? !is_limited : overlaps_first);
  if (sums != nullptr) launch_one(handle, *sums, launches.sums, overlaps_own);
}

void set_scalar(Scalar& scalar, const void* argument) {
  if (argument == nullptr) return;  // a zero, as it was
  if (scalar.device != nullptr)
    scalar.device = static_cast<const float*>(argument);
  else
    std::memcpy(&scalar.value, argument, sizeof scalar.value);
}

void* workspace_data(const Handle& handle, const GemmArguments&) {
  return handle.workspace.data;
}

void* workspace_data(const Handle& handle, const MatmulArguments& arguments) {
  return call_settings(handle, arguments).workspace.data;
}

FixedAddresses fixed_addresses(const GemmArguments&) {
  return {};
}

FixedAddresses fixed_addresses(const MatmulArguments& arguments) {
  const bwgemmMatmulDesc_t& desc = arguments.desc;
  const bool moves_with_d = arguments.c == arguments.d || arguments.beta == nullptr;
  return {moves_with_d ? nullptr : arguments.c, desc.bias, desc.rowScale, desc.columnScale,
          desc.aux};
}

// What is summed, and where to.
void move_sums(SumsPlan&, const GemmArguments&) {}

void move_sums(SumsPlan& sums, const MatmulArguments& arguments) {
  if (!sums.any()) return;
  const bwgemmMatmulDesc_t& desc = arguments.desc;
  sums.params.to = desc.biasGradient;
  sums.params.matrix = desc.biasGradientOf == BWGEMM_BIAS_GRADIENT_A   ? arguments.a
                       : desc.biasGradientOf == BWGEMM_BIAS_GRADIENT_B ? arguments.b
                                                                       : arguments.d;
}

bool has_fixed_addresses(const KnownPlan&, const GemmArguments&) {
  return true;
}

bool has_fixed_addresses(const KnownPlan& known, const MatmulArguments& arguments) {
  return known.fixed == fixed_addresses(arguments);
}

// False if no plan of such a call's part is known, or only that of another choice. Where one is,
// but cannot be moved or has others behind it, `choice` is the call's.
template <class Arguments, class Key>
bool start_known(Handle& handle, const Arguments& arguments, const Key& key,
                 std::optional<Choice>& choice) {
  auto found = handle.plans.of(arguments).find(key);
  if (found.known == nullptr || (choice && found.known->choice != *choice)) return false;
  const ContextScope scope(handle.context);
  void* const memory = workspace_data(handle, arguments);
  const bool copies = found.known->copies.any();
  Scratch scratch = copies ? handle.scratch(found.known->need, memory) : Scratch{};
  if (!has_fixed_addresses(*found.known, arguments) ||
      !handle.move_plan(*found.known, addresses(arguments, found.known->are_exchanged), scratch)) {
    choice = found.known->choice;
    return false;
  }
  if (found.known->choice.division.parts > 1) choice = found.known->choice;
  Launches launches(*found.known);
  const ScratchNeed need = found.known->need;
  found.lock.unlock();
  if (!copies) scratch = scratch_for(handle, launches, need, memory);
  set_scalar(launches.plan.params.alpha, arguments.alpha);
  set_scalar(launches.plan.params.beta, arguments.beta);
  move_sums(launches.sums, arguments);
  launch_all(handle, launches, scratch);
  return true;
}

// A call that cannot be remembered is launched all the same.
template <class Arguments>
void remember(Handle& handle, const Arguments& arguments, const Problem& problem, KnownPlan& known,
              int part, std::uint64_t generation) {
  known.are_exchanged = exchanges_operands(arguments, problem);
  known.fixed = fixed_addresses(arguments);
  const auto key = plan_key(arguments, handle.pointer_mode, part);
  if (!key) return;
  try {
    handle.plans.of(arguments).insert(*key, known, generation);
  } catch (const std::bad_alloc&) {
    log(Level::info, "no memory to remember a plan");
  }
}

// All parts, or nothing if one cannot be planned. A choice that a measurement may change is not
// remembered.
template <class Arguments>
void start_unknown(Handle& handle, const Arguments& arguments, std::uint64_t generation) {
  const Problem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return;
  const CallSettings call = call_settings(handle, arguments);
  const ContextScope scope(handle.context);
  const bool is_final = tune(handle, problem, call);
  std::vector<KnownPlan> plans = planned(handle, problem, handle.choose(problem, call), call);
  for (int part = 0; KnownPlan & known : plans) {
    if (is_final) remember(handle, arguments, problem, known, part++, generation);
    start(handle, std::span(&known, 1), call.workspace.data);
  }
}

// One part of a call that was planned before: allocates nothing.
template <class Arguments>
void start_again(Handle& handle, const Arguments& arguments, const Choice& choice, int part,
                 std::uint64_t generation) {
  const Problem problem = validated(arguments, handle.pointer_mode);
  const CallSettings call = call_settings(handle, arguments);
  const ContextScope scope(handle.context);
  KnownPlan known = handle.plan(problem, choice, call, part);
  remember(handle, arguments, problem, known, part, generation);
  start(handle, std::span(&known, 1), call.workspace.data);
}

template <class Arguments>
void multiply_any(Handle& handle, const Arguments& arguments) {
  log(Level::info, [&] { return bench_command(validated(arguments, handle.pointer_mode)); });
  const std::uint64_t generation = handle.plans.of(arguments).generation();
  std::optional<Choice> choice;
  for (int part = 0; part == 0 || part < choice->division.parts; ++part) {
    const auto key = plan_key(arguments, handle.pointer_mode, part);
    if (key && start_known(handle, arguments, *key, choice)) {
      if (!choice) return;
    } else if (choice) {
      start_again(handle, arguments, *choice, part, generation);
    } else {
      return start_unknown(handle, arguments, generation);
    }
  }
}

}  // namespace

void multiply(Handle& handle, const GemmArguments& arguments) {
  multiply_any(handle, arguments);
}

void multiply(Handle& handle, const MatmulArguments& arguments) {
  multiply_any(handle, arguments);
}

CallSettings call_settings(const Handle& handle, const GemmArguments&) {
  return {handle.workspace, -1};
}

CallSettings call_settings(const Handle& handle, const MatmulArguments& arguments) {
  const bwgemmMatmulDesc_t& desc = arguments.desc;
  const bool has_own = desc.workspace != nullptr || desc.workspaceSize != 0;
  return {has_own ? Workspace{desc.workspace, desc.workspaceSize} : handle.workspace,
          arguments.is_gemm ? -1 : desc.algo};
}

std::vector<KnownPlan> planned(Handle& handle, const Problem& problem, const Choice& choice,
                               const CallSettings& call) {
  std::vector<KnownPlan> plans;
  plans.reserve(static_cast<std::size_t>(choice.division.parts));
  for (int part = 0; part < choice.division.parts; ++part)
    plans.push_back(handle.plan(problem, choice, call, part));
  return plans;
}

void start(Handle& handle, std::span<const KnownPlan> plans, void* memory) {
  for (const KnownPlan& known : plans) {
    const Scratch scratch =
        known.copies.any() ? known.scratch : scratch_for(handle, known, known.need, memory);
    Launches launches(known);
    launch_all(handle, launches, scratch);
  }
}

}  // namespace bwgemm
