// SPDX-License-Identifier: Apache-2.0
// bwgemm, opened when the program makes its first handle of cuBLAS. Programs that never do, such as
// a shell in front of the program, do not load it, nor the C++ library that it needs.
#pragma once

#include "bwgemm/bwgemm.h"

namespace bwgemm::dropin {

// Members have the functions' names without "bwgemm".
struct Library {
  decltype(&::bwgemmCreate) create;
  decltype(&::bwgemmSetStream) set_stream;
  decltype(&::bwgemmSetPointerMode) set_pointer_mode;
  decltype(&::bwgemmSetSmCountTarget) set_sm_count_target;
  decltype(&::bwgemmSetDeterminism) set_determinism;
  decltype(&::bwgemmGetTuneMode) get_tune_mode;
  decltype(&::bwgemmSetTuneMode) set_tune_mode;
  decltype(&::bwgemmMatmul) matmul;
  decltype(&::bwgemmMatmulGetWorkspaceSize) get_workspace_size;
  decltype(&::bwgemmMatmulGetAlgos) get_algos;
  decltype(&::bwgemmKernelName) kernel_name;
  decltype(&::bwgemmGetLastErrorString) last_error;
};

// Opens libbwgemm.so.1 beside this library, or the one that the process has. Null if that fails,
// which standard error then says once.
const Library* library();

}  // namespace bwgemm::dropin
