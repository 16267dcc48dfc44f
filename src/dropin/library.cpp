// SPDX-License-Identifier: Apache-2.0
#include "dropin/library.h"

#include <atomic>
#include <dlfcn.h>
#include <string>

#include "dropin/once.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

constexpr const char* file = "libbwgemm.so.1";

template <class Function>
bool finds(void* from, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(from, name));
  return function != nullptr;
}

bool is_complete(void* from, Library& found) {
  return finds(from, "bwgemmCreate", found.create) &&
         finds(from, "bwgemmSetStream", found.set_stream) &&
         finds(from, "bwgemmSetPointerMode", found.set_pointer_mode) &&
         finds(from, "bwgemmSetSmCountTarget", found.set_sm_count_target) &&
         finds(from, "bwgemmSetDeterminism", found.set_determinism) &&
         finds(from, "bwgemmGetTuneMode", found.get_tune_mode) &&
         finds(from, "bwgemmSetTuneMode", found.set_tune_mode) &&
         finds(from, "bwgemmMatmul", found.matmul) &&
         finds(from, "bwgemmMatmulGetWorkspaceSize", found.get_workspace_size) &&
         finds(from, "bwgemmMatmulGetAlgos", found.get_algos) &&
         finds(from, "bwgemmKernelName", found.kernel_name) &&
         finds(from, "bwgemmGetLastErrorString", found.last_error);
}

// Without functions if that fails.
const Library* opened_library() {
  static constinit std::atomic<bool> said{false};
  void* const from = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  auto* const found = new Library{};
  if (from != nullptr && is_complete(from, *found)) return found;
  *found = {};
  const char* const why = dlerror();
  if (said.exchange(true)) return found;
  std::string line = "every call goes to cuBLAS, because bwgemm cannot be opened: ";
  say(line.append(why != nullptr ? why : file));
  return found;
}

}  // namespace

const Library* library() {
  static constinit std::atomic<const Library*> kept{nullptr};
  const Library& once = made_once(kept, opened_library);
  return once.create != nullptr ? &once : nullptr;
}

}  // namespace bwgemm::dropin
