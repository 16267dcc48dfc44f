// SPDX-License-Identifier: Apache-2.0
// Programs whose calls do not come by, though they have cuBLAS. With BWGEMM_CUBLAS_REACH=1, which
// the launcher sets, standard error says so when such a process ends.
#pragma once

namespace bwgemm::dropin {

// A call has come by.
void note_call();

}  // namespace bwgemm::dropin
