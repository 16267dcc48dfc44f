// SPDX-License-Identifier: Apache-2.0
#include "series.h"

#include <algorithm>

namespace bwgemm::bench {

std::unique_ptr<Series> make_series(const Gpu& gpu, const OperandSets& operands, double graph_ms,
                                    const Call& call) {
  const Series probe(gpu, operands, 4, call);
  probe.microseconds(gpu);
  const double once_us = probe.microseconds(gpu);
  const int calls = static_cast<int>(std::clamp(graph_ms * 1e3 / once_us, 4.0, 2000.0));
  return std::make_unique<Series>(gpu, operands, calls, call);
}

std::unique_ptr<Series> make_short_series(const Gpu& gpu, const OperandSets& operands,
                                          double graph_ms, const Call& call) {
  call(0);  // loads the kernel
  check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  const double once_ms = gpu.milliseconds([&] {
    call(0);
    call(operands.sets() - 1);
  }) / 2;
  const int calls = std::clamp(static_cast<int>(graph_ms / once_ms), 1, 2000);
  return std::make_unique<Series>(gpu, operands, calls, call);
}

}  // namespace bwgemm::bench
