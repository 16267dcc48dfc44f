// SPDX-License-Identifier: Apache-2.0
#include "api/preload.h"

#include <algorithm>

#include "api/handle.h"
#include "api/program.h"
#include "api/validate.h"
#include "families/helpers.h"
#include "families/variants.h"

namespace bwgemm {
namespace {

constexpr float one = 1;

// Loads the kernels of one call; returns what their launches need.
ScratchNeed loaded(Handle& handle, const Arguments& arguments) {
  const ValidProblem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return {};
  const CallSettings call = call_settings(handle, arguments);
  const Program program = built(handle, problem, handle.choose(problem, call), call);
  for (const Part& part : program.parts)
    for (const Step& step : part.steps()) handle.kernels.get(step.kernel);
  return program.need;
}

bool may_be_d(const bwgemmMatmulDesc_t& desc) {
  return desc.Ctype == desc.Dtype && desc.Corder == desc.Dorder && desc.ldc == desc.ldd &&
         desc.strideC == desc.strideD;
}

ScratchNeed larger(const ScratchNeed& one, const ScratchNeed& other) {
  return {std::max(one.partials_bytes, other.partials_bytes),
          std::max(one.partials_limit, other.partials_limit),
          std::max(one.arrivals, other.arrivals)};
}

}  // namespace

void preload(Handle& handle, const bwgemmMatmulDesc_t& given) {
  // Stand-ins, which nothing follows; in device mode the scalars are among them.
  const auto stand_in = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  void *const a = stand_in(0x1000), *const b = stand_in(0x2000);
  void *const c = stand_in(0x3000), *const d = stand_in(0x4000);
  const void* scalar = handle.pointer_mode == BWGEMM_POINTER_MODE_HOST ? &one : stand_in(0x5000);
  const Arguments arguments = matmul_arguments(&given, scalar, a, b, nullptr, nullptr, d);
  const bwgemmMatmulDesc_t desc = desc_of(arguments);
  const ContextScope scope(handle.context);
  ScratchNeed need = loaded(handle, arguments);
  if (desc.ldc != 0 && desc.gate == BWGEMM_GATE_NONE)
    need = larger(need, loaded(handle, matmul_arguments(&desc, scalar, a, b, scalar,
                                                        may_be_d(desc) ? d : c, d)));
  // A workspace of the caller's has room for all but the counters.
  if (call_settings(handle, arguments).workspace.data != nullptr) need.partials_bytes = 0;
  handle.scratch.reserve(handle.stream, need);
}

void preload_all(Handle& handle) {
  const ContextScope scope(handle.context);
  for (const Helper& helper : helpers) handle.kernels.get(helper.number);
  for (std::size_t variant = 0; variant < kernel_variants.size(); ++variant) {
    if (kernel_variants[variant].arch != handle.facts.arch()) continue;
    try {
      handle.kernels.get(static_cast<int>(variant));
    } catch (const Error& error) {
      // One that does not fit the context is never launched.
      if (error.status() != BWGEMM_STATUS_NOT_SUPPORTED) throw;
    }
  }
  const std::size_t limit = handle.workspace.data == nullptr ? handle.workspace.usable() : 0;
  const auto resident = static_cast<std::size_t>(handle.facts.sm_count) *
                        static_cast<std::size_t>(handle.facts.ctas_per_sm);
  handle.scratch.reserve_all(handle.stream, {limit, limit, resident / 2});
}

}  // namespace bwgemm
