// SPDX-License-Identifier: Apache-2.0
#include "api/multiply.h"

#include <cstring>
#include <new>
#include <optional>

#include "api/bench_command.h"
#include "api/log.h"
#include "api/plan_cache.h"
#include "core/text.h"
#include "kernels/rows.h"
#include "launch/launch.h"

namespace bwgemm {
namespace {

void trace(const Plan& plan) {
  const KernelName name = kernel_name(kernel_rows[static_cast<std::size_t>(plan.row)]);
  log(Level::trace,
      text(name.view(), ", grid ", plan.grid, ", cluster ", plan.cluster, ", ", plan.shape.threads,
           " threads, ", plan.shape.smem_bytes, " bytes of shared memory"));
}

void trace(const SumsPlan& plan) {
  log(Level::trace, text(sums::kernel_name(plan.arch).view(), ", grid ", plan.grid, ", ",
                         sums::threads, " threads"));
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

// False if no plan of such a call is known. Where one is, but cannot be moved, `choice` is its own.
template <class Arguments, class Key>
bool start_known(Handle& handle, const Arguments& arguments, const Key& key,
                 std::optional<Choice>& choice) {
  auto found = handle.plans.of(arguments).find(key);
  if (found.known == nullptr) return false;
  const ContextScope scope(handle.context);
  if (!has_fixed_addresses(*found.known, arguments) ||
      !handle.move_plan(*found.known, addresses(arguments, found.known->are_exchanged))) {
    choice = found.known->choice;
    return false;
  }
  Plan plan = found.known->plan;
  SumsPlan sums;
  if (found.known->sums.any()) sums = found.known->sums;
  const ScratchNeed need = found.known->need;
  found.lock.unlock();
  set_scalar(plan.params.alpha, arguments.alpha);
  set_scalar(plan.params.beta, arguments.beta);
  move_sums(sums, arguments);
  start(handle, plan, sums, need, workspace_data(handle, arguments));
  return true;
}

// A call that cannot be remembered is launched all the same.
template <class Arguments, class Key>
void remember(Handle& handle, const Arguments& arguments, const Key& key, KnownPlan& known) {
  known.fixed = fixed_addresses(arguments);
  try {
    handle.plans.of(arguments).insert(key, known);
  } catch (const std::bad_alloc&) {
    log(Level::info, "no memory to remember a plan");
  }
}

template <class Arguments>
void multiply_any(Handle& handle, const Arguments& arguments) {
  if (logs(Level::info)) log(Level::info, bench_command(validated(arguments, handle.pointer_mode)));
  const auto key = plan_key(arguments, handle.pointer_mode);
  std::optional<Choice> choice;
  if (key && start_known(handle, arguments, *key, choice)) return;
  const Problem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return;
  const CallSettings call = call_settings(handle, arguments);
  const ContextScope scope(handle.context);
  KnownPlan known = handle.plan(problem, choice ? *choice : handle.choose(problem, call), call);
  known.are_exchanged = exchanges_operands(arguments, problem);
  if (key) remember(handle, arguments, *key, known);
  start(handle, known.plan, known.sums, known.need, call.workspace.data);
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

// The sums' kernel begins when the product is complete: it may have the same scratch.
void start(Handle& handle, Plan& plan, SumsPlan& sums, const ScratchNeed& need, void* memory) {
  const LoadedKernel* sums_kernel = sums.any() ? &handle.kernels.get_sums() : nullptr;
  const bool splits = plan.params.splits > 1 && !plan.params.sums_in_cluster,
             shares = sums.any() && sums.params.parts > 1;
  if (splits || shares) {
    const Scratch scratch = handle.scratch(need, memory);
    const auto give = [&](auto& params) {
      params.partials = scratch.partials;
      params.arrivals = scratch.arrivals;
    };
    if (splits) give(plan.params);
    if (shares) give(sums.params);
  }
  if (logs(Level::trace)) trace(plan);
  const CUstream stream = handle.stream.stream();
  const bool overlaps = handle.programmatic_launch != 0;
  launch(handle.driver, handle.kernels.get(plan.row), plan, stream, overlaps);
  if (sums_kernel == nullptr) return;
  if (logs(Level::trace)) trace(sums);
  launch(handle.driver, *sums_kernel, sums, stream, overlaps);
}

}  // namespace bwgemm
