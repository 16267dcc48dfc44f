// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <dlfcn.h>

#include "python.h"

namespace bwgemm_python {
namespace {

Library loaded;

bool find_all(void* file, Library& functions) {
  return find(file, "bwgemmGetVersion", functions.get_version) &&
         find(file, "bwgemmGetBuildInfo", functions.get_build_info) &&
         find(file, "bwgemmStatusName", functions.status_name) &&
         find(file, "bwgemmGetLastErrorString", functions.last_error) &&
         find(file, "bwgemmKernelCount", functions.kernel_count) &&
         find(file, "bwgemmKernelName", functions.kernel_name) &&
         find(file, "bwgemmCreate", functions.create) &&
         find(file, "bwgemmSetStream", functions.set_stream) &&
         find(file, "bwgemmGetStream", functions.get_stream) &&
         find(file, "bwgemmMatmul", functions.matmul) &&
         find(file, "bwgemmMatmulExplain", functions.explain);
}

}  // namespace

std::string open_library(const char* path) {
  void* file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr || !find_all(file, loaded)) {
    const char* reason = dlerror();
    return reason != nullptr ? reason : path;
  }
  return "";
}

const Library& library() {
  return loaded;
}

void check(bwgemmStatus_t status) {
  if (status != BWGEMM_STATUS_SUCCESS) throw Failure{status, loaded.last_error()};
}

}  // namespace bwgemm_python
