// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the doubles of cuBLAS and cuBLASLt: a recorded product by simple loops.
#pragma once

#include "dropin/fake_cublas.h"
#include "dropin/fake_cublaslt.h"

namespace bwgemm::test {

// Waits for the stream, computes on the host, and writes C. `error` is added to element (0, 0) of
// each matrix of the batch.
void multiply(const FakeProduct& call, cudaStream_t stream, bool has_device_scalars, double error);

// `error` is added to element (0, 0) of what the activation is applied to, but not in aux, and to
// all sums of a bias gradient. There is no batch.
void multiply(const FakeLtProduct& call, double error);

}  // namespace bwgemm::test
