// SPDX-License-Identifier: Apache-2.0
//
// The functions of libbwgemm.so.1 that the package calls. The library is opened by its path: a
// search path would be ignored where the program runs with more rights than its user.
#pragma once

#include <dlfcn.h>
#include <string>

#include "bwgemm/bwgemm.h"

namespace bwgemm_python {

// False if the file has no function of that name.
template <class Function>
bool find(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(file, name));
  return function != nullptr;
}

struct Library {
  decltype(&bwgemmGetVersion) get_version;
  decltype(&bwgemmGetBuildInfo) get_build_info;
  decltype(&bwgemmStatusName) status_name;
  decltype(&bwgemmGetLastErrorString) last_error;
  decltype(&bwgemmKernelCount) kernel_count;
  decltype(&bwgemmKernelName) kernel_name;
  decltype(&bwgemmCreate) create;
  decltype(&bwgemmSetStream) set_stream;
  decltype(&bwgemmGetStream) get_stream;
  decltype(&bwgemmMatmul) matmul;
  decltype(&bwgemmMatmulExplain) explain;
};

// Opens it for good. The text is empty, or says why it cannot be used.
std::string open_library(const char* path);

// The functions of the library that was opened.
const Library& library();

// Throws a Failure with the library's sentence if the status is an error of the thread's last call.
void check(bwgemmStatus_t status);

}  // namespace bwgemm_python
