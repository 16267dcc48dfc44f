// SPDX-License-Identifier: Apache-2.0
#include "dropin/library.h"

#include <array>
#include <dlfcn.h>
#include <string>

#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

constexpr const char* file = "libbwgemm.so.1";

template <class Function>
bool find(void* from, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(from, name));
  return function != nullptr;
}

bool is_complete(void* from, Library& found) {
  return find(from, "bwgemmCreate", found.create) &&
         find(from, "bwgemmSetStream", found.set_stream) &&
         find(from, "bwgemmSetPointerMode", found.set_pointer_mode) &&
         find(from, "bwgemmSetSmCountTarget", found.set_sm_count_target) &&
         find(from, "bwgemmSetDeterminism", found.set_determinism) &&
         find(from, "bwgemmGetTuneMode", found.get_tune_mode) &&
         find(from, "bwgemmSetTuneMode", found.set_tune_mode) &&
         find(from, "bwgemmMatmul", found.matmul) &&
         find(from, "bwgemmMatmulGetWorkspaceSize", found.get_workspace_size) &&
         find(from, "bwgemmGetLastErrorString", found.last_error);
}

const Library* opened() {
  void* const from = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  static Library found{};
  if (from != nullptr && is_complete(from, found)) return &found;
  const char* const why = dlerror();
  std::string line = "every call goes to cuBLAS, because bwgemm cannot be opened: ";
  say(line.append(why != nullptr ? why : file));
  return nullptr;
}

}  // namespace

const Library* library() {
  static const Library* const once = opened();
  return once;
}

}  // namespace bwgemm::dropin
