// SPDX-License-Identifier: Apache-2.0
#include "launch/graph_end.h"

#include <dlfcn.h>

namespace bwgemm {
namespace {

using Flag = std::shared_ptr<std::atomic<bool>>;

// The destructor of the user object, on any thread, perhaps inside of a call of the library: it
// takes no lock and may not call CUDA.
void CUDA_CB note_end(void* object) {
  const std::unique_ptr<Flag> flag(static_cast<Flag*>(object));
  (*flag)->store(true, std::memory_order_release);
}

}  // namespace

// Once loaded for good, opening it again changes nothing. A program that is linked with the
// library's objects is not found here, and not unloaded either.
void GraphEnd::stay_loaded() {
  static constinit std::atomic<bool> stays{false};
  if (stays.load(std::memory_order_relaxed)) return;
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&note_end), &own) != 0)
    static_cast<void>(dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
  stays.store(true, std::memory_order_relaxed);
}

GraphEnd::GraphEnd(const Driver& driver, CUgraph graph)
    : has_come_(std::make_shared<std::atomic<bool>>(false)) {
  auto flag = std::make_unique<Flag>(has_come_);
  CUuserObject object = nullptr;
  driver.call(driver.cuUserObjectCreate, &object, static_cast<void*>(flag.get()),
              static_cast<CUhostFn>(note_end), 1U, unsigned{CU_USER_OBJECT_NO_DESTRUCTOR_SYNC});
  static_cast<void>(flag.release());
  const CUresult result =
      driver.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (result == CUDA_SUCCESS) return;
  static_cast<void>(driver.cuUserObjectRelease(object, 1));
  driver.check(driver.cuGraphRetainUserObject, result);
}

}  // namespace bwgemm
