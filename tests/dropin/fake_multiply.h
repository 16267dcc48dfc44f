// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the doubles of cuBLAS and cuBLASLt: a recorded product by simple loops.
#pragma once

#include "dropin/fake_cublas.h"
#include "dropin/fake_cublaslt.h"

namespace bwgemm::test {

// Waits for the stream, computes on the host, and writes C. `error` is added to element (0, 0) of
// each matrix of the batch.
void multiply(const FakeProduct& call, cudaStream_t stream, bool has_device_scalars, double error);

// Of the epilogues those that write D alone, with a bias or relu. Each matrix has a batch of 1.
void multiply(const FakeLtProduct& call, double error);

}  // namespace bwgemm::test
