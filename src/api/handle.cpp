// SPDX-License-Identifier: Apache-2.0
// The table of live handles, and what a handle chooses. Its making and end are in handle_life.cpp.
#include "api/handle.h"

#include <array>
#include <atomic>
#include <mutex>

#include "api/log.h"
#include "families/variants.h"
#include "launch/fork.h"
#include "select/algos.h"

// What a bwgemmHandle_t points to: a place in the table below. Never freed, so that looking at the
// place of a destroyed handle is defined; places are taken in turn, so that it stays empty for
// long.
struct bwgemmContext {
  std::atomic<bwgemm::Handle*> handle;
  std::atomic<unsigned> forks;  // fork_count() when the handle was made
};

namespace bwgemm {
namespace {

constexpr std::size_t max_handles = 8192;

constinit std::array<bwgemmContext, max_handles> table{};
ForkedMutex publishing;
constinit std::size_t next_place = 0;

// Null if the pointer is no place of the table.
bwgemmContext* place_of(bwgemmHandle_t handle) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(table.data());
  return offset < sizeof table && offset % sizeof(bwgemmContext) == 0 ? handle : nullptr;
}

}  // namespace

SelectOptions Handle::select_options(std::size_t workspace_bytes) const {
  return {.batch_invariant = determinism == BWGEMM_DETERMINISM_BATCH_INVARIANT,
          .forced = forced,
          .sm_count_target = sm_count_target,
          .workspace_bytes = workspace_bytes};
}

SelectOptions Handle::select_options(const Problem& problem, const CallSettings& call,
                                     std::optional<std::size_t> workspace_bytes) const {
  SelectOptions options = select_options(workspace_bytes.value_or(call.workspace.usable()));
  if (call.algo != -1) {
    options.pick = unpacked(call.algo);
  } else if (tuning.any() && !forced.any()) {
    const std::string kind = problem_class(problem, options, facts);
    options.pick = tuning.find(kind);
    // It may be of a call that had more workspace.
    if (options.pick && !can_serve(problem, facts, kernel_variants, options)) options.pick.reset();
    options.is_pick_measured = options.pick.has_value() && tuning.is_measured(kind);
  }
  return options;
}

Choice Handle::choose(const Problem& problem, const CallSettings& call) const {
  const SelectOptions options = select_options(problem, call);
  log(Level::debug, [&] { return explain(problem, facts, kernel_variants, options); });
  return select(problem, facts, kernel_variants, options);
}

bwgemmHandle_t publish(std::unique_ptr<Handle> handle) {
  require_fork_count();
  const std::lock_guard lock(publishing);
  for (std::size_t tried = 0; tried < max_handles; ++tried) {
    bwgemmContext& place = table[next_place];
    next_place = (next_place + 1) % max_handles;
    if (place.handle.load(std::memory_order_relaxed) != nullptr) continue;
    place.forks.store(fork_count(), std::memory_order_relaxed);
    place.handle.store(handle.release(), std::memory_order_release);
    return &place;
  }
  throw Error(BWGEMM_STATUS_ALLOC_FAILED, text("there are ", max_handles, " handles already"));
}

Handle& checked(bwgemmHandle_t handle) {
  if (handle == nullptr) throw Error(BWGEMM_STATUS_NOT_INITIALIZED, "handle is null");
  bwgemmContext* place = place_of(handle);
  Handle* found = place != nullptr ? place->handle.load(std::memory_order_acquire) : nullptr;
  if (found == nullptr)
    throw Error(BWGEMM_STATUS_NOT_INITIALIZED,
                "handle is not one that bwgemmCreate returned, or it was destroyed");
  if (place->forks.load(std::memory_order_relaxed) != fork_count())
    throw Error(BWGEMM_STATUS_NOT_INITIALIZED,
                "handle was made before fork(), and CUDA does not work in a forked child");
  return *found;
}

std::unique_ptr<Handle> withdraw(bwgemmHandle_t handle) {
  Handle& found = checked(handle);
  place_of(handle)->handle.store(nullptr, std::memory_order_release);
  return std::unique_ptr<Handle>(&found);
}

}  // namespace bwgemm
