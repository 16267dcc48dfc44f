// SPDX-License-Identifier: Apache-2.0
// The products run in the handle's stream; host and device wait for each other once per round.
#include "api/autotune.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "api/log.h"
#include "api/multiply.h"
#include "api/rules.h"
#include "core/text.h"
#include "kernels/rows.h"
#include "select/algos.h"

namespace bwgemm {
namespace {

constexpr double most_over_best_prediction = 3;
// A candidate whose first time is this many times the least one's is timed no more.
constexpr double hopeless = 2;
constexpr std::uint32_t first_options_size =
    sizeof(bwgemmAutotuneOptions_t);  // of the first version

class DeviceBuffer {
 public:
  DeviceBuffer(const Driver& driver, CUstream stream, std::size_t bytes)
      : driver_(driver), stream_(stream), bytes_(bytes) {
    const CUresult result = driver.cuMemAlloc(&memory_, bytes);
    if (result != CUDA_SUCCESS)
      throw Error(status_of(result), text(driver.describe(driver.cuMemAlloc.name(), result),
                                          " for ", bytes, " bytes to tune with"));
  }
  // Behind the work that uses it.
  ~DeviceBuffer() {
    static_cast<void>(driver_.cuStreamSynchronize(stream_));
    static_cast<void>(driver_.cuMemFree(memory_));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  CUdeviceptr memory() const { return memory_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const Driver& driver_;
  CUstream stream_;
  std::size_t bytes_;
  CUdeviceptr memory_ = 0;
};

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

struct Candidate {
  std::vector<KnownPlan> plans;
  std::vector<double> times;
  Pick pick;

  double median() const {
    std::vector<double> sorted = times;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }
};

// Elements from the first to behind the last.
std::int64_t span(const Matrix& d, std::int64_t m, std::int64_t n, std::int64_t batch) {
  return (batch - 1) * d.batch_stride + (m - 1) * d.ld + n;
}

// A D of the same layout and alignment somewhere else.
class OtherD {
 public:
  OtherD(const Driver& driver, CUstream stream, const Problem& problem)
      : offset_(reinterpret_cast<std::uintptr_t>(problem.d.data) % alignment),
        buffer_(driver, stream, bytes_of(problem) + offset_) {}

  const void* data() const { return reinterpret_cast<const void*>(buffer_.memory() + offset_); }

 private:
  static constexpr std::size_t alignment = 256;  // that of allocations

  // C added to D has no gate: D is as wide as the product.
  static std::size_t bytes_of(const Problem& problem) {
    return static_cast<std::size_t>(span(problem.d, problem.m, problem.n, problem.batch) *
                                    size_bytes(problem.d.type));
  }

  std::size_t offset_;
  DeviceBuffer buffer_;
};

class Tuner {
 public:
  Tuner(Handle& handle, const Problem& problem, const CallSettings& call)
      : handle_(handle), problem_(problem), call_(call), stream_(handle.stream.stream()) {}

  // Those that can be launched, by prediction. Throws if there is none.
  std::vector<Candidate> candidates(int most) const {
    const SelectOptions options = handle_.select_options(problem_, call_);
    std::vector<Candidate> found;
    std::optional<Error> refusal;
    double limit = 0;
    for (const Algo& algo : worth_timing(algos(problem_, handle_.facts, kernel_rows, options))) {
      if (found.empty()) limit = most_over_best_prediction * algo.predicted_us;
      if (static_cast<int>(found.size()) == most || algo.predicted_us > limit) break;
      try {
        found.push_back({plans_of(algo.pick), {}, algo.pick});
      } catch (const Error& error) {
        // Clusters may not fit what the context has of the device.
        if (error.status() != BWGEMM_STATUS_NOT_SUPPORTED) throw;
        refusal.emplace(error);
      }
    }
    if (!found.empty()) return found;
    if (refusal) throw Error(*refusal);
    static_cast<void>(select(problem_, handle_.facts, kernel_rows, options));  // says why
    unsupported("no kernel to choose from can serve the call");
  }

  // Every candidate's times, in rounds, behind a launch that is not timed.
  void time(std::vector<Candidate>& candidates, int repetitions) const {
    const DeviceBuffer flushed(handle_.driver, stream_, flush_bytes());
    const Event begin(handle_.driver), end(handle_.driver);
    double least = 0;
    for (Candidate& candidate : candidates) {
      launch(candidate);
      const double us = timed(candidate, flushed, begin, end);
      least = least == 0 ? us : std::min(least, us);
    }
    for (int round = 1; round < repetitions; ++round)
      for (Candidate& candidate : candidates)
        if (candidate.times[0] <= hopeless * least) timed(candidate, flushed, begin, end);
  }

  void launch(Candidate& candidate) const { start(handle_, candidate.plans, call_.workspace.data); }

  std::vector<KnownPlan> plans_of(const Pick& pick) const {
    CallSettings call = call_;
    call.algo = packed(pick);
    return planned(handle_, problem_, handle_.choose(problem_, call), call_);
  }

 private:
  // Orders of tiles are predicted alike: others than the usual one only of the best prediction.
  static std::vector<Algo> worth_timing(std::vector<Algo> all) {
    if (all.empty()) return all;
    const Pick best = all.front().pick;
    std::erase_if(all, [&](const Algo& algo) {
      Pick usual = algo.pick;
      usual.raster = best.raster;
      return algo.pick.raster != Raster::grouped && usual != best;
    });
    return all;
  }

  std::size_t flush_bytes() const {
    constexpr std::int64_t least = 8 << 20;
    return static_cast<std::size_t>(std::max(2 * handle_.facts.l2_bytes, least));
  }

  double timed(Candidate& candidate, const DeviceBuffer& flushed, const Event& begin,
               const Event& end) const {
    const Driver& driver = handle_.driver;
    driver.call(driver.cuMemsetD32Async, flushed.memory(), 0U,
                flushed.bytes() / sizeof(std::uint32_t), stream_);
    begin.record(stream_);
    launch(candidate);
    end.record(stream_);
    candidate.times.push_back(end.microseconds_since(begin));
    return candidate.times.back();
  }

  Handle& handle_;
  const Problem problem_;
  const CallSettings call_;
  const CUstream stream_;
};

// The first, by prediction, of those whose medians cannot be told from the least one.
std::size_t winner(const std::vector<Candidate>& candidates, double tolerance) {
  std::vector<double> medians;
  for (const Candidate& candidate : candidates) medians.push_back(candidate.median());
  const double limit = *std::min_element(medians.begin(), medians.end()) * (1 + tolerance);
  const auto first =
      std::find_if(medians.begin(), medians.end(), [&](double median) { return median <= limit; });
  return static_cast<std::size_t>(first - medians.begin());
}

void log_times(const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates)
    log(Level::debug, [&] {
      const Pick& pick = candidate.pick;
      const auto ns = static_cast<std::int64_t>(1e3 * candidate.median());
      return text("autotune: ", kernel_name(kernel_rows[static_cast<std::size_t>(pick.row)]).view(),
                  ", tile_n ", pick.tile_n, ", splits ", pick.splits, ", raster ",
                  name(pick.raster), ", operands ", name(pick.operands), ": ", ns, " ns, ",
                  candidate.times.size(), " launches");
    });
}

void refuse_capture(const Handle& handle) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Driver& driver = handle.driver;
  const CUresult result = driver.cuStreamIsCapturing(handle.stream.stream(), &status);
  // The legacy stream cannot be used while a stream that waits for it is captured.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE)
    throw Error(BWGEMM_STATUS_EXECUTION_FAILED,
                "the handle's stream is being captured, and tuning has to wait for it");
  driver.check(driver.cuStreamIsCapturing, result);
}

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
  check_struct_size("options->structSize", options->structSize, first_options_size,
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

std::int64_t autotune(Handle& handle, const MatmulArguments& arguments,
                      const AutotuneOptions& options) {
  require(arguments.desc.algo == -1, "algo is ", arguments.desc.algo, " but must be -1");
  const Problem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return -1;
  const CallSettings call = call_settings(handle, arguments);
  if (problem.is_pointer_array && problem.reads_c())
    unsupported(
        "beta may not be 0 and C is an array of pointers, which may be those of D: tuning "
        "would add C more than once");
  const ContextScope scope(handle.context);
  refuse_capture(handle);
  const CaptureRelaxer relaxer(handle.driver);
  const CUstream stream = handle.stream.stream();

  Problem repeated = problem;
  repeated.sums = {};  // which take the same time behind every candidate
  std::optional<OtherD> other_d;
  if (problem.reads_c() && problem.c.data == problem.d.data)
    repeated.d.data = other_d.emplace(handle.driver, stream, problem).data();
  const Tuner tuner(handle, repeated, call);
  std::vector<Candidate> candidates = tuner.candidates(options.candidates);
  tuner.time(candidates, options.repetitions);
  log_times(candidates);
  Candidate& best = candidates[winner(candidates, options.tolerance)];

  const Tuner final(handle, problem, call);
  best.plans = final.plans_of(best.pick);
  final.launch(best);
  handle.driver.call(handle.driver.cuStreamSynchronize, stream);
  if (problem.scale_only()) return packed(best.pick);
  const SelectOptions settings = handle.select_options(problem, call);
  handle.tuning.remember(problem_class(problem, settings, handle.facts), best.pick);
  handle.plans.clear();
  return packed(best.pick);
}

}  // namespace bwgemm
