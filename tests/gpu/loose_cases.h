// SPDX-License-Identifier: Apache-2.0
// Cases whose operands lie where TMA cannot load them.
#pragma once

#include <cstdint>

#include "support/driver.h"
#include "support/gemm_case.h"
#include "support/matmul_call.h"

namespace bwgemm::test {

// What keeps TMA from loading an operand, as bits.
enum Loose { aligned = 0, by_start = 1, by_step = 2, by_both = 3 };

// The case with A and B that lie so; `distance`: elements beyond whole units of 16 bytes.
inline GemmCase placed(GemmCase gemm, int a, int b, std::int64_t distance = 1) {
  const auto extra = [&](std::int64_t length, int loose) {
    return (8 - length % 8) % 8 + ((loose & by_step) != 0 ? distance : 0);
  };
  gemm.lda_extra = extra(gemm.transa == BWGEMM_OP_N ? gemm.m : gemm.k, a);
  gemm.ldb_extra = extra(gemm.transb == BWGEMM_OP_N ? gemm.k : gemm.n, b);
  if ((a & by_start) != 0) gemm.a_displacement = distance;
  if ((b & by_start) != 0) gemm.b_displacement = distance;
  gemm.fill = Fill::integers;
  return gemm;
}

// The case as a call of bwgemmMatmul.
inline MatmulCall matmul_of(const GemmCase& gemm, const Operands& operands) {
  const Matrix &a = operands.a(), &b = operands.b(), &c = operands.c_before();
  MatmulCall call;
  call.alpha = &gemm.alpha, call.a = operands.a_pointer(), call.b = operands.b_pointer();
  call.beta = &gemm.beta, call.c = call.d = operands.c_pointer();
  bwgemmMatmulDesc_t& desc = call.desc;
  desc.transa = gemm.transa, desc.transb = gemm.transb;
  desc.m = gemm.m, desc.n = gemm.n, desc.k = gemm.k, desc.batchCount = gemm.batch;
  desc.Atype = desc.Btype = c_type(gemm.input), desc.Ctype = desc.Dtype = c_type(gemm.output);
  desc.lda = a.ld(), desc.ldb = b.ld(), desc.ldc = desc.ldd = c.ld();
  desc.strideA = a.stride(), desc.strideB = b.stride(), desc.strideC = desc.strideD = c.stride();
  return call;
}

// What `start` puts on the stream, captured once.
template <class Start>
void capture_and_replay(const Stream& stream, int replays, const Start& start) {
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
  start();
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  for (int replay = 0; replay < replays; ++replay) graph.launch(stream.get());
  stream.synchronize();
}

}  // namespace bwgemm::test
