// SPDX-License-Identifier: Apache-2.0
// Batches by arrays of pointers: the kernel finds each matrix where its pointer says, when it runs,
// and nothing of A and B, their arrays included, where they are not read.
#include <gtest/gtest.h>
#include <vector>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

// Device memory with the addresses of a batch's matrices, the last matrix first.
class PointerArray {
 public:
  PointerArray(const void* base, const Matrix& matrix)
      : memory_(sizeof(std::uint64_t) * static_cast<std::size_t>(matrix.batch())) {
    std::vector<std::uint64_t> addresses;
    for (std::int64_t batch = matrix.batch() - 1; batch >= 0; --batch)
      addresses.push_back(
          reinterpret_cast<std::uint64_t>(base) +
          static_cast<std::uint64_t>(batch * matrix.stride() * size_bytes(matrix.type())));
    set(addresses);
  }

  void set(const std::vector<std::uint64_t>& addresses) {
    check(driver().memcpy_htod(memory_.address(), addresses.data(),
                               sizeof(std::uint64_t) * addresses.size()),
          "cuMemcpyHtoD");
    synchronize();
  }
  void copy_from(const PointerArray& other, std::size_t count) {
    std::vector<std::uint64_t> addresses(count);
    check(driver().memcpy_dtoh(addresses.data(), other.memory_.address(),
                               sizeof(std::uint64_t) * count),
          "cuMemcpyDtoH");
    set(addresses);
  }
  void** get() const { return memory_.as<void*>(); }

 private:
  DeviceMemory memory_;
};

class PointerArrays : public HandleTest {
 protected:
  bwgemmStatus_t call(const GemmCase& gemm, const Operands& operands, const void* const* a,
                      const void* const* b, void* const* c) const {
    return bwgemmGemmBatchedEx(
        handle(), gemm.transa, gemm.transb, gemm.m, gemm.n, gemm.k, &gemm.alpha, a,
        c_type(gemm.input), operands.a().ld(), b, c_type(gemm.input), operands.b().ld(), &gemm.beta,
        c, c_type(gemm.output), operands.c_before().ld(), gemm.batch, BWGEMM_COMPUTE_32F, -1);
  }
};

struct Arrays {
  PointerArray a, b, c;

  explicit Arrays(const Operands& operands)
      : a(operands.a_pointer(), operands.a()),
        b(operands.b_pointer(), operands.b()),
        c(operands.c_pointer(), operands.c_before()) {}
};

std::vector<GemmCase> batches() {
  return {{.m = 72, .n = 40, .k = 64, .beta = -0.5f, .ld_multiple = 8, .batch = 3},
          {.transa = BWGEMM_OP_T,
           .m = 33,
           .n = 70,
           .k = 51,
           .input = Dtype::f16,
           .output = Dtype::f32,
           .a_displacement = 1,
           .batch = 4,
           .stride_extra = 3},
          {.m = 16, .n = 24, .k = 2000, .output = Dtype::f32, .batch = 2}};
}

TEST_F(PointerArrays, EveryMatrixIsWhereItsPointerSays) {
  for (const GemmCase& gemm : batches()) {
    Operands operands(gemm);
    const Arrays arrays(operands);
    EXPECT_TRUE(succeeds(call(gemm, operands, arrays.a.get(), arrays.b.get(), arrays.c.get())));
    operands.expect_result(" by pointers");
  }
}

TEST_F(PointerArrays, AReplayedGraphReadsThemAnew) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const GemmCase& gemm : batches()) {
    GemmCase other_gemm = gemm;
    other_gemm.seed = 77;
    Operands operands(gemm), others(other_gemm);
    Arrays arrays(operands);
    const Arrays other_arrays(others);
    check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          "cuStreamBeginCapture");
    EXPECT_TRUE(succeeds(call(gemm, operands, arrays.a.get(), arrays.b.get(), arrays.c.get())));
    CUgraph captured = nullptr;
    check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
    const Graph graph(captured);
    graph.launch(stream.get());
    stream.synchronize();
    const auto count = static_cast<std::size_t>(gemm.batch);
    arrays.a.copy_from(other_arrays.a, count);
    arrays.b.copy_from(other_arrays.b, count);
    arrays.c.copy_from(other_arrays.c, count);
    graph.launch(stream.get());
    operands.expect_result(" of the first replay");
    others.expect_result(" of the second replay");
  }
  EXPECT_TRUE(succeeds(bwgemmSetStream(handle(), nullptr)));
}

// The second time with other matrices, as a call whose plan is known.
TEST_F(PointerArrays, MayBeNullWhereTheyAreNotRead) {
  for (const std::int64_t k : {0, 40}) {
    GemmCase gemm{.m = 20, .n = 30, .k = k, .alpha = 0, .beta = -0.5f, .batch = 3};
    if (k == 0) gemm.alpha = 1;
    for (const std::uint64_t seed : {1, 2, 3}) {
      gemm.seed = seed;
      Operands operands(gemm);
      const Arrays arrays(operands);
      EXPECT_TRUE(succeeds(call(gemm, operands, nullptr, nullptr, arrays.c.get())));
      operands.expect_result(" without A and B");
      Operands again(gemm);
      const Arrays all(again);
      EXPECT_TRUE(succeeds(call(gemm, again, all.a.get(), all.b.get(), all.c.get())));
      again.expect_result(" with A and B that are not read");
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
