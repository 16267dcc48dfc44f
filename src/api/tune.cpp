// SPDX-License-Identifier: Apache-2.0
#include "api/tune.h"

#include "api/log.h"
#include "api/scratch_outputs.h"
#include "api/tuner.h"
#include "core/text.h"

namespace bwgemm {
namespace {

// On 1500 problems from all over what a user can ask for, swept on an H100, what eight candidates
// and this tolerance choose takes 0.5 % longer than the fastest of all. The best predicted takes
// 5.3 % longer. bwgemm_bench --regret --measured 8 tells both.
constexpr int most_candidates = 8;
constexpr int repetitions = 5;
constexpr double tolerance = 0.02;
constexpr double budget_us = 50e3;  // of launches
constexpr std::size_t budget_bytes = std::size_t{512} << 20;

// At least two candidates can be launched twice.
bool fits_budget(const Handle& handle, const Problem& problem, const Choice& predicted) {
  return predicted.predicted_us <= budget_us / 4 &&
         ScratchOutputs::bytes_of(problem) + Tuner::flush_bytes(handle.facts) <= budget_bytes;
}

void measure(Handle& handle, const Problem& problem, const CallSettings& call,
             const std::string& kind) {
  const Choice predicted = handle.choose(problem, call);
  if (!fits_budget(handle, problem, predicted) || !Tuner(handle, problem, call).has_choice())
    return;
  const CaptureRelaxer relaxer(handle.driver);
  const ScratchOutputs outputs(handle.driver, handle.stream.stream(), problem);
  const Tuner tuner(handle, outputs.problem(), call);
  std::vector<TimedRecipe> candidates = tuner.candidates(most_candidates, recipe_of(predicted));
  if (candidates.size() < 2) return;
  tuner.time(candidates, repetitions, budget_us);
  handle.tuning.agree_on(kind, winner(candidates, tolerance).recipe);
}

// The call's program will be kept. So the choice must stay, whatever later calls of the kind could
// measure or find in the file.
void keep_predicted(Handle& handle, const Problem& problem, const CallSettings& call,
                    const std::string& kind) {
  if (handle.tuning.find(kind)) return;
  handle.tuning.remember_predicted(kind, recipe_of(handle.choose(problem, call)));
}

}  // namespace

bool tune(Handle& handle, const Problem& problem, const CallSettings& call) {
  if (handle.tune_mode != BWGEMM_TUNE_ON || call.algo != -1 || handle.forced.any() ||
      problem.scale_only())
    return true;
  const std::string kind =
      problem_class(problem, handle.select_options(problem, call), handle.facts);
  if (handle.tuning.find(kind)) return true;
  // No call waits here for another thread's measurement, whose stream may wait for this thread. A
  // caller with a lock of its own around calls does, as the library in front of cuBLAS has.
  const std::unique_lock lock(handle.measuring, std::try_to_lock);
  if (!lock) return false;
  try {
    if (is_captured(handle)) return false;
    if (!handle.tuning.find_anew(kind)) measure(handle, problem, call, kind);
  } catch (const std::exception& error) {
    log(Level::info, [&] { return text("not tuned: ", error.what()); });
  }
  keep_predicted(handle, problem, call, kind);
  return true;
}

}  // namespace bwgemm
