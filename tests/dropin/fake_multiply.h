// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the double of cuBLAS: a recorded product by simple loops.
#pragma once

#include "dropin/fake_cublas.h"

namespace bwgemm::test {

// Waits for the stream, computes on the host, and writes C. `error` is added to element (0, 0) of
// each matrix of the batch.
void multiply(const FakeProduct& call, cudaStream_t stream, bool has_device_scalars, double error);

}  // namespace bwgemm::test
