// SPDX-License-Identifier: Apache-2.0
// bench_command: the bwgemm_bench command line that repeats a call, for the log.
#pragma once

#include <string>

#include "core/problem.h"

namespace bwgemm {

// In the column-major terms of the C API. Keys of --problem: m n k transa transb dtype out batch
// beta; and, where they are not what bwgemm_bench would take, alpha, lda ldb ldc stridea strideb
// stridec, aligna alignb alignc (bytes, below 16) and scalars=device. What a GEMM is not is said in
// a comment of the shell.
std::string bench_command(const Problem& problem);

}  // namespace bwgemm
