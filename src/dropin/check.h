// SPDX-License-Identifier: Apache-2.0
// Mode check: a call is computed by bwgemm beside the program's memory and by cuBLAS in it, and the
// results are compared. The program waits for both, and sees cuBLAS's.
#pragma once

#include <mutex>

#include "dropin/call.h"
#include "dropin/dispatch.h"
#include "dropin/handles.h"

namespace bwgemm::dropin {

// `lock` is that of the handle, and is released. Standard error has a line about the first call of
// the process whose results differ, with the bwgemm_bench command of its sizes and types.
cublasStatus_t check(Handle& handle, const Call& call, const CallSettings& settings,
                     std::unique_lock<std::mutex>& lock, const RealCall& real);

}  // namespace bwgemm::dropin
