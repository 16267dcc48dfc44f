// SPDX-License-Identifier: Apache-2.0
// The C functions that take a handle. Each is a guard around steps that are done elsewhere; the
// product itself is validated -> choose -> make_plan -> launch, or only the last for a call like
// one before it.
#include "bwgemm/bwgemm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "api/bench_command.h"
#include "api/guard.h"
#include "api/handle.h"
#include "api/log.h"
#include "api/options.h"
#include "api/plan_cache.h"
#include "api/validate.h"
#include "core/error.h"
#include "core/text.h"
#include "kernels/rows.h"
#include "launch/launch.h"
#include "plan/plan.h"
#include "select/select.h"

namespace bwgemm {
namespace {

void trace(const Plan& plan) {
  const KernelName name = kernel_name(kernel_rows[static_cast<std::size_t>(plan.row)]);
  log(Level::trace,
      text(name.view(), ", grid ", plan.grid, ", cluster ", plan.cluster, ", ", plan.shape.threads,
           " threads, ", plan.shape.smem_bytes, " bytes of shared memory"));
}

// The plan of a launch that has no scratch yet.
void start(Handle& handle, Plan& plan, const ScratchNeed& need) {
  if (plan.params.splits > 1) {
    const Scratch scratch = handle.scratch(need);
    plan.params.partials = scratch.partials;
    plan.params.arrivals = scratch.arrivals;
  }
  if (logs(Level::trace)) trace(plan);
  launch(handle.driver, handle.kernels.get(plan.row), plan, handle.stream.stream(),
         handle.programmatic_launch != 0);
}

void set_scalar(Scalar& scalar, const void* argument) {
  if (scalar.device != nullptr)
    scalar.device = static_cast<const float*>(argument);
  else
    std::memcpy(&scalar.value, argument, sizeof scalar.value);
}

// False if no plan of such a call is known. Where one is, but cannot be moved, `choice` is its own.
bool start_known(Handle& handle, const GemmArguments& arguments, const PlanKey& key,
                 std::optional<Choice>& choice) {
  PlanCache::Found found = handle.plans.find(key);
  if (found.known == nullptr) return false;
  const ContextScope scope(handle.context);
  if (!handle.move_plan(*found.known, addresses(arguments))) {
    choice = found.known->choice;
    return false;
  }
  Plan plan = found.known->plan;
  const ScratchNeed need = found.known->need;
  found.lock.unlock();
  set_scalar(plan.params.alpha, arguments.alpha);
  set_scalar(plan.params.beta, arguments.beta);
  start(handle, plan, need);
  return true;
}

// A call that cannot be remembered is launched all the same.
void remember(Handle& handle, const PlanKey& key, const KnownPlan& known) {
  try {
    handle.plans.insert(key, known);
  } catch (const std::bad_alloc&) {
    log(Level::info, "no memory to remember a plan");
  }
}

void multiply(Handle& handle, const GemmArguments& arguments) {
  if (logs(Level::info)) log(Level::info, bench_command(validated(arguments, handle.pointer_mode)));
  const std::optional<PlanKey> key = plan_key(arguments, handle.pointer_mode);
  std::optional<Choice> choice;
  if (key && start_known(handle, arguments, *key, choice)) return;
  const Problem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return;
  const ContextScope scope(handle.context);
  KnownPlan known = handle.plan(problem, choice ? *choice : handle.choose(problem));
  if (key) remember(handle, *key, known);
  start(handle, known.plan, known.need);
}

bwgemmStatus_t gemm(const char* entry, bwgemmHandle_t handle, const GemmArguments& arguments) {
  return guard(entry, [&] { multiply(checked(handle), arguments); });
}

std::size_t workspace_wanted(const Handle& handle, const Problem& problem) {
  if (problem.empty()) return 0;
  SelectOptions options = handle.select_options();
  options.workspace_bytes = SIZE_MAX;
  const Choice choice = select(problem, handle.facts, kernel_rows, options);
  return workspace_bytes(problem, kernel_rows[static_cast<std::size_t>(choice.row)], choice);
}

std::string explanation(const Handle& handle, const Problem& problem) {
  return explain(problem, handle.facts, kernel_rows, handle.select_options());
}

// Without a handle: of what a new one would do on the two chips.
std::string nominal_explanation(const Problem& problem) {
  const std::string forced_kernel = option_value(Option::force_kernel);
  const SelectOptions options{.forced_kernel = forced_kernel,
                              .forced_splits = number_option(Option::force_splits),
                              .forced_tile_n = number_option(Option::force_tile_n),
                              .forced_raster = raster_option(Option::force_raster),
                              .workspace_bytes = ScratchPool::max_partials_bytes};
  return "Nominal H200\n" + explain(problem, nominal_h200, kernel_rows, options) +
         "\nNominal B200\n" + explain(problem, nominal_b200, kernel_rows, options);
}

void explain_to(bwgemmHandle_t c_handle, const GemmArguments& arguments, char* to,
                std::size_t size) {
  const Handle* handle = c_handle != nullptr ? &checked(c_handle) : nullptr;
  const Problem problem =
      validated(arguments, handle != nullptr ? handle->pointer_mode : BWGEMM_POINTER_MODE_HOST);
  require(to != nullptr, "text is null but will be written");
  require(size > 0, "size is 0 but must be at least 1");
  const std::string report = problem.empty()     ? "nothing to launch: m, n or the batch is 0\n"
                             : handle != nullptr ? explanation(*handle, problem)
                                                 : nominal_explanation(problem);
  const std::size_t kept = std::min(report.size(), size - 1);
  std::memcpy(to, report.data(), kept);
  to[kept] = '\0';
}

}  // namespace
}  // namespace bwgemm

using bwgemm::checked;
using bwgemm::explain_to;
using bwgemm::gemm;
using bwgemm::GemmArguments;
using bwgemm::guard;
using bwgemm::Handle;
using bwgemm::require;
using bwgemm::workspace_wanted;

const char* bwgemmGetLastErrorString(void) {
  return bwgemm::last_error_text();
}

bwgemmStatus_t bwgemmCreate(bwgemmHandle_t* handle) {
  return guard(__func__, [&] {
    require(handle != nullptr, "handle is null but will be written");
    const std::string path = bwgemm::option_value(bwgemm::Option::libcuda);
    *handle = publish(std::make_unique<Handle>(bwgemm::open_driver(path.c_str())));
  });
}

bwgemmStatus_t bwgemmDestroy(bwgemmHandle_t handle) {
  if (handle == nullptr) return BWGEMM_STATUS_SUCCESS;
  return guard(__func__, [&] { bwgemm::withdraw(handle)->close(); });
}

bwgemmStatus_t bwgemmGemmEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                            bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                            const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
                            const void* B, bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                            void* C, bwgemmDataType_t Ctype, int64_t ldc,
                            bwgemmComputeType_t computeType, int algo) {
  return gemm(__func__, handle,
              {transa, transb, m, n,    k, alpha, A,   Atype, lda, 0,           B,
               Btype,  ldb,    0, beta, C, Ctype, ldc, 0,     1,   computeType, algo});
}

bwgemmStatus_t bwgemmGemmStridedBatchedEx(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                          bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                          const void* alpha, const void* A, bwgemmDataType_t Atype,
                                          int64_t lda, int64_t strideA, const void* B,
                                          bwgemmDataType_t Btype, int64_t ldb, int64_t strideB,
                                          const void* beta, void* C, bwgemmDataType_t Ctype,
                                          int64_t ldc, int64_t strideC, int64_t batchCount,
                                          bwgemmComputeType_t computeType, int algo) {
  return gemm(
      __func__, handle,
      {transa, transb, m,       n,    k, alpha, A,   Atype,   lda,        strideA,     B,
       Btype,  ldb,    strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo});
}

bwgemmStatus_t bwgemmBf16(bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb,
                          int64_t m, int64_t n, int64_t k, const float* alpha, const void* A,
                          int64_t lda, const void* B, int64_t ldb, const float* beta, void* C,
                          int64_t ldc) {
  constexpr bwgemmDataType_t type = BWGEMM_R_16BF;
  return gemm(__func__, handle, {transa, transb, m,    n,   k,    alpha, A,
                                 type,   lda,    0,    B,   type, ldb,   0,
                                 beta,   C,      type, ldc, 0,    1,     BWGEMM_COMPUTE_32F,
                                 -1});
}

bwgemmStatus_t bwgemmF16(bwgemmHandle_t handle, bwgemmOperation_t transa, bwgemmOperation_t transb,
                         int64_t m, int64_t n, int64_t k, const float* alpha, const void* A,
                         int64_t lda, const void* B, int64_t ldb, const float* beta, void* C,
                         int64_t ldc) {
  constexpr bwgemmDataType_t type = BWGEMM_R_16F;
  return gemm(__func__, handle, {transa, transb, m,    n,   k,    alpha, A,
                                 type,   lda,    0,    B,   type, ldb,   0,
                                 beta,   C,      type, ldc, 0,    1,     BWGEMM_COMPUTE_32F,
                                 -1});
}

bwgemmStatus_t bwgemmGetWorkspaceSize(bwgemmHandle_t handle, bwgemmOperation_t transa,
                                      bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                                      const void* alpha, const void* A, bwgemmDataType_t Atype,
                                      int64_t lda, const void* B, bwgemmDataType_t Btype,
                                      int64_t ldb, const void* beta, void* C,
                                      bwgemmDataType_t Ctype, int64_t ldc,
                                      bwgemmComputeType_t computeType, int algo, size_t* size) {
  return guard(__func__, [&] {
    const Handle& of = checked(handle);
    const GemmArguments arguments{transa, transb, m, n,     k,           alpha, A,    Atype,
                                  lda,    0,      B, Btype, ldb,         0,     beta, C,
                                  Ctype,  ldc,    0, 1,     computeType, algo};
    const bwgemm::Problem problem = validated(arguments, of.pointer_mode);
    require(size != nullptr, "size is null but will be written");
    *size = workspace_wanted(of, problem);
  });
}

bwgemmStatus_t bwgemmExplain(bwgemmHandle_t handle, bwgemmOperation_t transa,
                             bwgemmOperation_t transb, int64_t m, int64_t n, int64_t k,
                             const void* alpha, const void* A, bwgemmDataType_t Atype, int64_t lda,
                             const void* B, bwgemmDataType_t Btype, int64_t ldb, const void* beta,
                             void* C, bwgemmDataType_t Ctype, int64_t ldc,
                             bwgemmComputeType_t computeType, int algo, char* text, size_t size) {
  return guard(__func__, [&] {
    explain_to(handle, {transa, transb, m, n,    k, alpha, A,   Atype, lda, 0,           B,
                        Btype,  ldb,    0, beta, C, Ctype, ldc, 0,     1,   computeType, algo},
               text, size);
  });
}
