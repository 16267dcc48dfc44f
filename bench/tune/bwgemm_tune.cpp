// SPDX-License-Identifier: Apache-2.0
// bwgemm-tune: times each kind of call that a log of libbwgemm_cublas.so has, by bwgemm and by
// cuBLAS, and writes the file that BWGEMM_CUBLAS_CHOSEN names.
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "dropin/chosen.h"
#include "pairs.h"
#include "tune/program.h"
#include "tune/replay.h"

namespace bwgemm::bench {
namespace {

constexpr int pairs = 9;
constexpr double graph_ms = 4, first_warm_ms = 150, warm_ms = 20;

// libbwgemm_cublas.so lies beside the library that this program is linked to.
std::string dropin_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&bwgemmCreate), &info) == 0)
    throw std::runtime_error("libbwgemm.so.1 cannot be found");
  return std::filesystem::canonical(info.dli_fname).parent_path() / "libbwgemm_cublas.so";
}

Paired time_both(const Gpu& gpu, const Sensors& sensors, const TwoSides& sides,
                 const RecordedCall& recorded, double warm) {
  const Replay replay(gpu, sides, recorded);
  const auto series_of = [&](const Side& side) {
    const Call call = [&](int set) { replay.run(side, set); };
    call(0);  // outside of any graph: loads what is needed
    return make_series(gpu, replay.operands(), graph_ms, call);
  };
  const auto ours = series_of(sides.ours), theirs = series_of(sides.theirs);
  return time_in_pairs(gpu, sensors, pairs, warm, *ours, theirs.get(), nullptr);
}

// The file that is written: a line for each kind of call.
class ChosenFile {
 public:
  ChosenFile(std::string path, std::string device)
      : path_(std::move(path)), device_(std::move(device)) {
    for (const char* column : dropin::chosen_columns) text_.append(column).append(",");
    text_ += "serve,ratio,ratio_q1,ratio_q3,bwgemm_us,cublas_us,calls,device\n";
  }

  // bwgemm serves what it computes faster in three of four pairs.
  bool add(const RecordedCall& recorded, const Paired& times) {
    const Spread& ratio = times.over_first;
    const bool serves = ratio.low > 1;
    std::array<char, 200> numbers{};
    std::snprintf(numbers.data(), numbers.size(), ",%d,%.4f,%.4f,%.4f,%.3f,%.3f,%lld,", serves,
                  ratio.median, ratio.low, ratio.high, times.bwgemm_us, times.first_us,
                  static_cast<long long>(recorded.count));
    text_.append(recorded.key).append(numbers.data()).append(device_).append("\n");
    return serves;
  }

  // At once: what was timed is not lost if the program is ended early.
  void write() const {
    const std::string partial = path_ + ".partial";
    std::ofstream file(partial);
    file << text_;
    if (!file.flush()) throw std::runtime_error("cannot write " + partial);
    file.close();
    std::filesystem::rename(partial, path_);
  }

 private:
  std::string path_, device_, text_;
};

void tune(const std::string& log_path, const std::string& path) {
  const Table log = Table::read(log_path, true);
  const std::vector<RecordedCall> calls = recorded_calls(log);
  if (calls.empty())
    throw std::runtime_error(log_path + " has no call that bwgemm serves; " + path +
                             " is not written");
  const Gpu gpu;
  const Sensors sensors(gpu.pci_address());
  const TwoSides sides(recorded_library(log), dropin_path());
  ChosenFile file(path, gpu.name());
  std::size_t served = 0, left = 0, number = 0;
  for (const RecordedCall& call : calls) {
    std::fprintf(stderr, "bwgemm-tune: %zu of %zu: %s", ++number, calls.size(),
                 call.name().c_str());
    Paired times;
    try {
      const double warm = served + left == 0 ? first_warm_ms : warm_ms;
      times = time_both(gpu, sensors, sides, call, warm);
    } catch (const std::exception& error) {
      std::fprintf(stderr, ": not timed: %s\n", error.what());
      continue;
    }
    ++(file.add(call, times) ? served : left);
    file.write();
    std::fprintf(stderr, ": cuBLAS %.2f us, bwgemm %.2f us\n", times.first_us, times.bwgemm_us);
  }
  if (served + left == 0)
    throw std::runtime_error("no call could be timed; " + path + " is not written");
  std::fprintf(
      stderr,
      "bwgemm-tune: of %zu kinds of calls bwgemm serves %zu, cuBLAS keeps %zu, %zu are not "
      "timed: %s\n",
      calls.size(), served, left, calls.size() - served - left, path.c_str());
}

// The exit status: the program's; 1 where that would be 0 and no call could be timed.
int record_and_tune(const std::string& log_path, const std::string& path, char* const* program) {
  int status = 0;
  if (program != nullptr) {
    const Ended ended = run_program(program);
    status = ended.shell_status();
    if (status != 0)
      std::fprintf(stderr, "bwgemm-tune: the program %s; what it recorded is timed\n",
                   ended.sentence().c_str());
  }
  try {
    tune(log_path, path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm-tune: %s\n", error.what());
    if (status == 0) status = 1;
  }
  return status;
}

}  // namespace
}  // namespace bwgemm::bench

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs(
        "usage: bwgemm-tune CALLS FILE [PROGRAM [ARGUMENT]...]\n"
        "Times the calls of CALLS, a log of libbwgemm_cublas.so, by bwgemm and by cuBLAS on device "
        "0.\nWrites FILE, which BWGEMM_CUBLAS_CHOSEN names. PROGRAM is run before. It gets the "
        "signals that\ncome meanwhile. bwgemm-run --tune names one that makes CALLS.\n",
        stderr);
    return 2;
  }
  char* const* const program = count > 3 ? arguments + 3 : nullptr;
  try {
    return bwgemm::bench::record_and_tune(arguments[1], arguments[2], program);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm-tune: %s\n", error.what());
    return 1;
  }
}
