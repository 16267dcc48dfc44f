// SPDX-License-Identifier: Apache-2.0
// Launches steps of the ladder once each and looks at no result: for the virtual GPU's simulated
// time, which computes none (tests/kernels_on_vgpu/timing/ladder.py).
//
//   bwgemm_ladder_launches m n k [step...]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/ladder.h"

namespace bwgemm::bench {
namespace {

void launch_all(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) throw std::runtime_error("m n k [step...]");
  const std::int64_t m = std::stoll(arguments[0]), n = std::stoll(arguments[1]),
                     k = std::stoll(arguments[2]);
  const std::vector<std::string> names(arguments.begin() + 3, arguments.end());
  const Gpu gpu;
  const Ladder ladder(gpu);
  const auto bytes = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns) * 2;
  };
  const DeviceBuffer a(bytes(m, k)), b(bytes(n, k)), d(bytes(m, n));
  for (const ladder::Step& step : ladder::steps) {
    if (!names.empty() && std::find(names.begin(), names.end(), step.name) == names.end()) continue;
    ladder.launch(step, {m, n, k, a.address(), b.address(), d.address()});
    check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  }
}

}  // namespace
}  // namespace bwgemm::bench

int main(int count, char** arguments) {
  try {
    bwgemm::bench::launch_all({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_ladder_launches: %s\n", error.what());
    return 1;
  }
}
