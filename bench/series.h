// SPDX-License-Identifier: Apache-2.0
// Series: a CUDA graph of equal calls that walk through the operand sets: what one timed sample is.
#pragma once

#include <functional>
#include <memory>

#include "gpu.h"
#include "operands.h"

namespace bwgemm::bench {

// Submits one call on a set of operands.
using Call = std::function<void(int set)>;

struct Series {
  int calls;
  Graph graph;

  Series(const Gpu& gpu, const OperandSets& operands, int calls, const Call& call)
      : calls(calls), graph(gpu, [&] {
          for (int i = 0; i < calls; ++i) call(i % operands.sets());
        }) {}

  double microseconds(const Gpu& gpu) const {
    return gpu.milliseconds([&] { graph.launch(); }) * 1e3 / calls;
  }
};

// As many calls as fill one replay, from a first rough timing.
std::unique_ptr<Series> make_series(const Gpu& gpu, const OperandSets& operands, double graph_ms,
                                    const Call& call);

// The same from two calls outside of any graph, for when the timing itself must be short: at least
// one call.
std::unique_ptr<Series> make_short_series(const Gpu& gpu, const OperandSets& operands,
                                          double graph_ms, const Call& call);

}  // namespace bwgemm::bench
