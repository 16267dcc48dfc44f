// SPDX-License-Identifier: Apache-2.0
#include "sweep.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "call.h"
#include "operands.h"
#include "series.h"

namespace bwgemm::bench {

namespace {

// The file that is continued or begun.
class SweepFile {
 public:
  SweepFile(const std::string& path, bool resume, NominalDevice device) {
    if (path.empty()) return;
    if (resume && std::filesystem::exists(path)) rows_ = read_sweep(path);
    for (const SweepRow& row : rows_)
      if (row.device != device)
        throw std::runtime_error(
            path + " holds times of another device: " + std::string(name(row.device)));
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) throw std::runtime_error("cannot write " + path);
    std::fprintf(file_, "%s\n", sweep_header().c_str());
    for (const SweepRow& row : rows_) write(row);
    std::fflush(file_);
  }
  ~SweepFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;

  bool holds(const BenchProblem& problem, const Variant& variant) const {
    return keys_.contains(sweep_key(problem, variant));
  }
  void add(const SweepRow& row) {
    rows_.push_back(row);
    write(row);
    if (file_ != nullptr) std::fflush(file_);
  }
  std::vector<SweepRow> take() { return std::move(rows_); }

 private:
  void write(const SweepRow& row) {
    keys_.insert(sweep_key(row.problem, row.variant));
    if (file_ != nullptr) std::fprintf(file_, "%s\n", sweep_line(row).c_str());
  }

  std::FILE* file_ = nullptr;
  std::vector<SweepRow> rows_;
  std::set<std::string> keys_;
};

// A handle for each kernel, number of splits, place of their sums and of operands, forced to them.
class Handles {
 public:
  explicit Handles(const Gpu& gpu) : gpu_(gpu) {}

  // Between problems: each handle has scratch memory of its own, and all of them fill a device.
  void let_go_of_many() {
    constexpr std::size_t many = 200;
    if (handles_.size() > many) handles_.clear();
  }

  bwgemmHandle_t of(const BenchProblem& problem, const Variant& variant) {
    std::unique_ptr<Handle>& handle =
        handles_[{variant.kernel, variant.splits, variant.reduces_in_cluster, variant.operands}];
    if (handle == nullptr) {
      force_kernel(variant.kernel);
      force_splits(variant.splits);
      force_sums(variant.reduces_in_cluster ? "cluster" : "memory");
      force_operands(variant.operands);
      handle = std::make_unique<Handle>(gpu_.stream());
      force_kernel("");
      force_splits(0);
      force_sums("");
      force_operands("");
    }
    bwgemmSetPointerMode(handle->get(), problem.device_scalars ? BWGEMM_POINTER_MODE_DEVICE
                                                               : BWGEMM_POINTER_MODE_HOST);
    return handle->get();
  }

 private:
  const Gpu& gpu_;
  std::map<std::tuple<std::string, int, bool, std::string>, std::unique_ptr<Handle>> handles_;
};

SweepRow timed(const Gpu& gpu, const Sensors& sensors, const OperandSets& operands,
               bwgemmHandle_t handle, const BenchProblem& problem, const Prediction& prediction,
               NominalDevice device, const SweepOptions& options) {
  const auto series = make_short_series(gpu, operands, options.graph_ms, [&](int set) {
    run_bwgemm(handle, problem, operands.pointers(set));
  });
  series->microseconds(gpu);  // not counted
  Sensors::Reading reading;
  const double ms = gpu.milliseconds([&] {
    series->graph.launch();
    reading = sensors.read();  // under load
  });
  return {.problem = problem,
          .variant = prediction.variant,
          .device = device,
          .us = ms * 1e3 / series->calls,
          .predicted_us = prediction.us,
          .sm_mhz = reading.sm_mhz,
          .watts = reading.watts,
          .launches = series->calls};
}

class Sweep {
 public:
  Sweep(const Gpu& gpu, const Sensors& sensors, const SweepOptions& options)
      : gpu_(gpu),
        sensors_(sensors),
        options_(options),
        device_(nearest_device(gpu.compute_capability_major(), gpu.memory_bytes_per_us())),
        file_(options.csv, options.resume, device_),
        handles_(gpu) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  std::vector<SweepRow> take() { return file_.take(); }

  // Ends the line that names the problem. What fails is said and left out. All are timed twice, the
  // second time backwards, and the better time counts: behind a problem that drew all power clocks
  // take a while to come back, and the choice would always be the one that waits for them.
  void run(const BenchProblem& problem) {
    handles_.let_go_of_many();
    std::string failures;
    std::vector<Timing> timings;
    std::size_t wanted = 0;
    try {
      for (const Prediction& prediction : worth_timing(problem, device_, options_.prune)) {
        if (file_.holds(problem, prediction.variant)) continue;
        ++wanted;
        if (options_.budget_seconds > 0 && seconds() > options_.budget_seconds) continue;
        timings.push_back({.prediction = prediction});
      }
      if (!timings.empty()) {
        const OperandSets operands(gpu_, problem);
        for (Timing& timing : timings) time(problem, operands, timing);
        for (auto timing = timings.rbegin(); timing != timings.rend(); ++timing)
          time(problem, operands, *timing);
      }
    } catch (const std::exception& error) {
      failures += std::string("\n  ").append(error.what());
    }
    std::size_t done = 0;
    for (const Timing& timing : timings) {
      if (timing.row) file_.add(*timing.row);
      if (timing.row) ++done;
      failures += timing.failure;
    }
    std::printf("%zu of %zu timed%s\n", done, wanted, failures.c_str());
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Timing {
    Prediction prediction;
    std::optional<SweepRow> row = {};
    std::string failure = {};
  };

  void time(const BenchProblem& problem, const OperandSets& operands, Timing& timing) {
    if (!timing.failure.empty()) return;
    const Variant& variant = timing.prediction.variant;
    try {
      const SweepRow row = timed(gpu_, sensors_, operands, handles_.of(problem, variant), problem,
                                 timing.prediction, device_, options_);
      if (!timing.row || row.us < timing.row->us) timing.row = row;
    } catch (const std::exception& error) {
      timing.row.reset();
      timing.failure = std::string("\n  ").append(variant.kernel).append(": ") + error.what();
    }
  }

  const Gpu& gpu_;
  const Sensors& sensors_;
  const SweepOptions& options_;
  const NominalDevice device_;
  SweepFile file_;
  Handles handles_;
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace

std::vector<Prediction> worth_timing(const BenchProblem& problem, NominalDevice device,
                                     double prune) {
  std::vector<Prediction> worth = predictions(problem, device);
  std::erase_if(worth, [](const Prediction& p) { return !p.rejected.empty(); });
  if (worth.empty()) return worth;
  std::stable_sort(worth.begin(), worth.end(),
                   [](const Prediction& a, const Prediction& b) { return a.us < b.us; });
  const double limit = prune * worth.front().us;
  std::erase_if(worth, [&](const Prediction& p) { return p.us > limit; });
  const Prediction choice = chosen(problem, device);
  std::erase_if(worth, [&](const Prediction& p) { return p.variant == choice.variant; });
  worth.insert(worth.begin(), choice);
  return worth;
}

std::vector<SweepRow> sweep(const Gpu& gpu, const Sensors& sensors,
                            const std::vector<BenchProblem>& problems,
                            const SweepOptions& options) {
  Sweep sweep(gpu, sensors, options);
  std::size_t number = 0;
  for (const BenchProblem& problem : problems) {
    std::printf("[%zu/%zu] %.1f s  %-34s ", ++number, problems.size(), sweep.seconds(),
                problem.name.c_str());
    if (problem.empty() || !problem.unsupported.empty())
      std::printf("not run: %s\n",
                  problem.empty() ? "nothing to launch" : problem.unsupported.c_str());
    else
      sweep.run(problem);
    std::fflush(stdout);
  }
  return sweep.take();
}

}  // namespace bwgemm::bench
