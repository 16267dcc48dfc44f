// SPDX-License-Identifier: Apache-2.0
// Reports a process that loaded cuBLAS but whose calls never reached this library. The launcher
// sets BWGEMM_CUBLAS_REACH=1; standard error then says so at the end.
#pragma once

namespace bwgemm::dropin {

// A call has come by.
void note_call();

}  // namespace bwgemm::dropin
