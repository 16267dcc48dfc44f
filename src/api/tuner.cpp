// SPDX-License-Identifier: Apache-2.0
#include "api/tuner.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/log.h"
#include "api/program.h"
#include "api/validate.h"
#include "core/text.h"
#include "families/variants.h"
#include "launch/device_buffer.h"
#include "select/algos.h"

namespace bwgemm {
namespace {

constexpr double most_over_best_prediction = 3;
// A candidate whose first time is this many times the least one's is timed no more.
constexpr double hopeless = 2;

class Event {
 public:
  explicit Event(const Driver& driver) : driver_(driver) {
    driver.call(driver.cuEventCreate, &event_, unsigned{CU_EVENT_DEFAULT});
  }
  ~Event() { static_cast<void>(driver_.cuEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(CUstream stream) const { driver_.call(driver_.cuEventRecord, event_, stream); }
  // Since `begin`; waits for this one.
  double microseconds_since(const Event& begin) const {
    driver_.call(driver_.cuEventSynchronize, event_);
    float milliseconds = 0;
    driver_.call(driver_.cuEventElapsedTime, &milliseconds, begin.event_, event_);
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  const Driver& driver_;
  CUevent event_ = nullptr;
};

// Times launches, each behind a flush of L2, and adds up what they take.
class Stopwatch {
 public:
  Stopwatch(const Handle& handle, CUstream stream, double budget_us)
      : driver_(handle.driver),
        stream_(stream),
        left_us_(budget_us),
        flushed_(driver_, stream, Tuner::flush_bytes(handle.facts)) {}

  bool is_over() const { return left_us_ <= 0; }
  void count(double us) { left_us_ -= us; }

  template <class Launch>
  double timed(const Launch& launch) {
    driver_.call(driver_.cuMemsetD32Async, flushed_.memory(), 0U,
                 flushed_.bytes() / sizeof(std::uint32_t), stream_);
    begin_.record(stream_);
    launch();
    end_.record(stream_);
    const double us = end_.microseconds_since(begin_);
    count(us);
    return us;
  }

 private:
  const Driver& driver_;
  const CUstream stream_;
  double left_us_;
  const DeviceBuffer flushed_;
  const Event begin_{driver_}, end_{driver_};
};

// Orders of tiles are predicted alike: others than the usual one only of the first algo.
std::vector<Algo> worth_timing(std::vector<Algo> all) {
  if (all.empty()) return all;
  const Recipe best = all.front().recipe;
  std::erase_if(all, [&](const Algo& algo) {
    Recipe usual = algo.recipe;
    usual.raster = best.raster;
    return algo.recipe.raster != Raster::grouped && usual != best;
  });
  return all;
}

void log_times(const std::vector<TimedRecipe>& candidates) {
  for (const TimedRecipe& candidate : candidates)
    log(Level::debug, [&] {
      const Recipe& recipe = candidate.recipe;
      const auto ns = static_cast<std::int64_t>(1e3 * candidate.median());
      return text("autotune: ",
                  kernel_name(kernel_variants[static_cast<std::size_t>(recipe.variant)]).view(),
                  ", tile_n ", recipe.tile_n, ", splits ", recipe.splits, ", raster ",
                  name(recipe.raster), ", operands ", name(recipe.operands), ": ", ns, " ns, ",
                  candidate.times.size(), " launches");
    });
}

}  // namespace

double TimedRecipe::median() const {
  std::vector<double> sorted = times;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

bool is_captured(const Handle& handle) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Driver& driver = handle.driver;
  const CUresult result = driver.cuStreamIsCapturing(handle.stream.stream(), &status);
  // The legacy stream cannot be used while a stream that waits for it is captured.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  driver.check(driver.cuStreamIsCapturing, result);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::size_t Tuner::flush_bytes(const DeviceFacts& facts) {
  constexpr std::int64_t least = 8 << 20;
  return static_cast<std::size_t>(std::max(2 * facts.l2_bytes, least));
}

bool Tuner::has_choice() const {
  const SelectOptions options = handle_.select_options(problem_, call_);
  const std::vector<Algo> all =
      worth_timing(algos(problem_, handle_.facts, kernel_variants, options));
  return all.size() >= 2 && all[1].predicted_us <= most_over_best_prediction * all[0].predicted_us;
}

std::vector<TimedRecipe> Tuner::candidates(int most, const std::optional<Recipe>& first) const {
  const SelectOptions options = handle_.select_options(problem_, call_);
  std::vector<Algo> all = algos(problem_, handle_.facts, kernel_variants, options);
  std::stable_partition(all.begin(), all.end(),
                        [&](const Algo& algo) { return algo.recipe == first; });
  all = worth_timing(std::move(all));
  std::vector<TimedRecipe> found;
  std::optional<Error> refusal;
  double limit = 0;
  for (const Algo& algo : all) {
    if (found.empty()) limit = most_over_best_prediction * algo.predicted_us;
    if (static_cast<int>(found.size()) == most || algo.predicted_us > limit) break;
    try {
      found.push_back({program_of(algo.recipe), {}, algo.recipe});
    } catch (const Error& error) {
      // Clusters may not fit what the context has of the device.
      if (error.status() != BWGEMM_STATUS_NOT_SUPPORTED) throw;
      refusal.emplace(error);
    }
  }
  if (!found.empty()) return found;
  if (refusal) throw Error(*refusal);
  static_cast<void>(select(problem_, handle_.facts, kernel_variants, options));  // says why
  unsupported("no kernel to choose from can serve the call");
}

void Tuner::time(std::vector<TimedRecipe>& candidates, int repetitions, double budget_us) const {
  Stopwatch watch(handle_, stream_, budget_us);
  const auto time_one = [&](TimedRecipe& candidate) {
    candidate.times.push_back(watch.timed([&] { launch(candidate); }));
    return candidate.times.back();
  };
  double least = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    TimedRecipe& candidate = candidates[i];
    if (watch.is_over() && i >= 2) break;
    launch(candidate);
    const double us = time_one(candidate);
    watch.count(us);  // the launch that is not timed
    least = least == 0 ? us : std::min(least, us);
  }
  std::erase_if(candidates, [](const TimedRecipe& candidate) { return candidate.times.empty(); });
  for (int round = 1; round < repetitions; ++round)
    for (TimedRecipe& candidate : candidates)
      if (candidate.times[0] <= hopeless * least && !watch.is_over()) time_one(candidate);
}

void Tuner::launch(TimedRecipe& candidate) const {
  Values values = values_of(problem_, false);
  run(handle_, candidate.program, values, call_.workspace.data);
}

Program Tuner::program_of(const Recipe& pick) const {
  CallSettings call = call_;
  call.algo = packed(pick);
  return built(handle_, {problem_, false}, handle_.choose(problem_, call), call_);
}

const TimedRecipe& winner(const std::vector<TimedRecipe>& candidates, double tolerance) {
  log_times(candidates);
  std::vector<double> medians;
  for (const TimedRecipe& candidate : candidates) medians.push_back(candidate.median());
  const double limit = *std::min_element(medians.begin(), medians.end()) * (1 + tolerance);
  const auto first =
      std::find_if(medians.begin(), medians.end(), [&](double median) { return median <= limit; });
  return candidates[static_cast<std::size_t>(first - medians.begin())];
}

}  // namespace bwgemm
