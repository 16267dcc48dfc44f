// SPDX-License-Identifier: Apache-2.0
#include "api/autotune.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "api/program.h"
#include "api/scratch_outputs.h"
#include "api/tuner.h"
#include "api/validate.h"
#include "select/algos.h"

namespace bwgemm {
namespace {

constexpr std::uint32_t first_options_size =
    sizeof(bwgemmAutotuneOptions_t);  // of the first version

template <class Value>
Value set_or(Value value, Value otherwise) {
  return value != Value{} ? value : otherwise;
}
// Bits decide, as is_zero() says.
double set_or(double value, double otherwise) {
  return std::bit_cast<std::uint64_t>(value) << 1 != 0 ? value : otherwise;
}

}  // namespace

AutotuneOptions known_options(const bwgemmAutotuneOptions_t* options) {
  AutotuneOptions known;
  if (options == nullptr) return known;
  check_struct_size("options->structSize", options->structSize, {first_options_size},
                    sizeof *options);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(options);
  if (std::any_of(bytes + first_options_size, bytes + options->structSize,
                  [](auto b) { return b != 0; }))
    unsupported("options has members that this version does not know and that are not zero");
  require(options->candidates >= 0, "candidates is ", options->candidates,
          " but must be at least 0");
  require(options->repetitions >= 0, "repetitions is ", options->repetitions,
          " but must be at least 0");
  require(options->reserved == 0, "reserved is ", options->reserved, " but must be 0");
  require(options->tolerance >= 0 && options->tolerance <= 1, "tolerance must be from 0 to 1");
  return {set_or(options->candidates, known.candidates),
          set_or(options->repetitions, known.repetitions),
          set_or(options->tolerance, known.tolerance)};
}

std::int64_t autotune(Handle& handle, const Arguments& arguments, const AutotuneOptions& options) {
  require(arguments.algo == -1, "algo is ", arguments.algo, " but must be -1");
  const ValidProblem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return -1;
  const CallSettings call = call_settings(handle, arguments);
  if (problem.is_pointer_array && problem.reads_c())
    unsupported(
        "beta may not be 0 and C is an array of pointers, which may be those of D: tuning "
        "would add C more than once");
  const ContextScope scope(handle.context);
  if (is_captured(handle))
    throw Error(BWGEMM_STATUS_EXECUTION_FAILED,
                "the handle's stream is being captured, and tuning has to wait for it");
  const CaptureRelaxer relaxer(handle.driver);
  const CUstream stream = handle.stream.stream();

  std::optional<ScratchOutputs> outputs;
  if (problem.reads_c() && problem.c.data == problem.d.data)
    outputs.emplace(handle.driver, stream, problem);
  const Tuner tuner(handle, outputs ? outputs->problem() : without_sums(problem), call);
  std::vector<TimedRecipe> candidates = tuner.candidates(options.candidates);
  tuner.time(candidates, options.repetitions);
  const Recipe best = winner(candidates, options.tolerance).recipe;

  const Tuner final(handle, problem, call);
  TimedRecipe last{final.program_of(best), {}, best};
  final.launch(last);
  handle.driver.call(handle.driver.cuStreamSynchronize, stream);
  if (problem.scale_only()) return packed(best);
  const SelectOptions settings = handle.select_options(problem, call);
  handle.tuning.remember(problem_class(problem, settings, handle.facts), best,
                         handle.tune_mode != BWGEMM_TUNE_FROZEN);
  handle.programs.clear();
  return packed(best);
}

}  // namespace bwgemm
