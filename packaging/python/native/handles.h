// SPDX-License-Identifier: Apache-2.0
//
// Handles of the library. A handle belongs to a thread for as long as the thread lives, then to the
// next that needs one: destroying it would wait for the device, and break captures of other
// threads. The end of the process ends them all. In a forked child the parent's handles are left
// alone.
#pragma once

#include <utility>
#include <vector>

#include "bwgemm/bwgemm.h"

namespace bwgemm_python {

// A handle of the device, which no other call uses meanwhile. Throws a Failure.
class Lease {
 public:
  explicit Lease(int device);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  bwgemmHandle_t handle() const { return handle_; }

 private:
  int device_;
  bwgemmHandle_t handle_;
};

// Those of the calling thread that no call uses, each with its stream.
std::vector<std::pair<bwgemmHandle_t, void*>> handles_of_thread(int device);

// Has pthread_atfork make children forget the parent's handles. Called once.
void register_fork();

}  // namespace bwgemm_python
