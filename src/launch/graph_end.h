// SPDX-License-Identifier: Apache-2.0
// GraphEnd: whether a graph still exists, in any form: itself, copies of it, executable graphs made
// of either, and launches of those. The driver tells by destroying a user object of the graph.
#pragma once

#include <atomic>
#include <memory>

#include "launch/driver.h"

namespace bwgemm {

class GraphEnd {
 public:
  // Called before the first one, without locks: from then on the library stays loaded for the life
  // of the process, because the driver will call it when a graph goes.
  static void stay_loaded();

  // The graph may be one that a stream is being captured into.
  GraphEnd(const Driver& driver, CUgraph graph);

  bool has_come() const { return has_come_->load(std::memory_order_acquire); }

 private:
  // Shared with the user object, which may outlive the handle.
  std::shared_ptr<std::atomic<bool>> has_come_;
};

}  // namespace bwgemm
