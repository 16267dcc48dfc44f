// SPDX-License-Identifier: Apache-2.0
// Calls run on the handle's stream, after what was put into it before, whichever stream it is; and
// calls on several streams and threads do not disturb each other.
#include <gtest/gtest.h>
#include <thread>

#include "gpu/split_case.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

class Streams : public HandleTest {
 protected:
  // A is NaN until a long chain of copies in the same stream has put its values there.
  void expect_order_on(CUstream stream) {
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream)));
    GemmCase gemm{.transa = BWGEMM_OP_T, .m = 256, .n = 136, .k = 512, .ld_multiple = 8};
    Operands operands(gemm);
    const std::size_t bytes = operands.a().bytes().size();
    const std::size_t chain_bytes = std::size_t{small_scale() ? 4u : 256u} << 20;
    const DeviceMemory values(bytes), from(chain_bytes), to(chain_bytes);
    const auto a = reinterpret_cast<CUdeviceptr>(operands.a_pointer());
    check(driver().memcpy_htod(values.address(), operands.a().bytes().data(), bytes),
          "cuMemcpyHtoD");
    check(driver().memset_d16(a, poison, bytes / 2), "cuMemsetD16");
    synchronize();
    for (int i = 0; i < 20; ++i)
      check(driver().memcpy_dtod_async(to.address(), from.address(), chain_bytes, stream),
            "cuMemcpyDtoDAsync");
    check(driver().memcpy_dtod_async(a, values.address(), bytes, stream), "cuMemcpyDtoDAsync");
    EXPECT_TRUE(succeeds(call(handle(), gemm, operands)));
    // Work behind the call must see the result: C is copied before the device is waited for.
    std::vector<std::byte> c(operands.c_before().bytes().size());
    check(driver().memcpy_dtoh_async(c.data(), reinterpret_cast<CUdeviceptr>(operands.c_pointer()),
                                     c.size(), stream),
          "cuMemcpyDtoHAsync");
    check(driver().stream_synchronize(stream), "cuStreamSynchronize");
    operands.expect_result();
    Matrix copied = operands.c_before();
    copied.bytes() = c;
    const Matrix& d = operands.device_c().download();
    EXPECT_EQ(copied.bytes(), d.bytes()) << "a copy behind the call came too early";
  }
};

TEST_F(Streams, NullIsTheLegacyStream) {
  expect_order_on(nullptr);
}
TEST_F(Streams, Legacy) {
  expect_order_on(CU_STREAM_LEGACY);
}
TEST_F(Streams, PerThread) {
  expect_order_on(CU_STREAM_PER_THREAD);
}
TEST_F(Streams, Blocking) {
  const Stream stream(CU_STREAM_DEFAULT);
  expect_order_on(stream.get());
}
TEST_F(Streams, NonBlocking) {
  const Stream stream;
  expect_order_on(stream.get());
}

TEST_F(Streams, TheStreamIsStored) {
  const Stream stream;
  CUstream stored = stream.get();
  EXPECT_TRUE(succeeds(bwgemmGetStream(handle(), &stored)));
  EXPECT_EQ(stored, nullptr) << "a new handle uses the legacy default stream";
  EXPECT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  EXPECT_TRUE(succeeds(bwgemmGetStream(handle(), &stored)));
  EXPECT_EQ(stored, stream.get());
}

TEST_F(Streams, AStreamOfAnotherContextIsRefused) {
  const Context other;
  CUstream foreign = nullptr;
  {
    const CurrentContext scope(other.get());
    check(driver().stream_create(&foreign, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  const Stream own;
  EXPECT_TRUE(succeeds(bwgemmSetStream(handle(), own.get())));
  EXPECT_EQ(bwgemmSetStream(handle(), foreign), BWGEMM_STATUS_INVALID_VALUE);
  CUstream stored = nullptr;
  EXPECT_TRUE(succeeds(bwgemmGetStream(handle(), &stored)));
  EXPECT_EQ(stored, own.get()) << "a refused stream must not be stored";
  run(handle(), {.m = 40, .n = 40, .k = 40});
  const CurrentContext scope(other.get());
  check(driver().stream_destroy(foreign), "cuStreamDestroy");
}

// Two streams and one handle; all launches are in flight together.
TEST_F(Streams, SplitProblemsOnTwoStreams) {
  const Stream first, second;
  const GemmCase one = split_case(1), two = split_case(2);
  Operands operands_one(one), operands_two(two);
  for (int i = 0; i < (small_scale() ? 4 : 100); ++i) {
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), first.get())));
    ASSERT_TRUE(succeeds(call(handle(), one, operands_one)));
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), second.get())));
    ASSERT_TRUE(succeeds(call(handle(), two, operands_two)));
    if (i % 25 != 3) continue;
    operands_one.expect_result(" on stream 1, round " + std::to_string(i));
    operands_two.expect_result(" on stream 2, round " + std::to_string(i));
  }
  operands_one.expect_result(" on stream 1");
  operands_two.expect_result(" on stream 2");
}

// Two threads share one handle whose stream is the per-thread one: two streams in truth.
TEST_F(Streams, SplitProblemsOnThePerThreadStreamsOfTwoThreads) {
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), CU_STREAM_PER_THREAD)));
  CUcontext context = nullptr;
  check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
  const GemmCase one = split_case(3), two = split_case(4);
  Operands operands_one(one), operands_two(two);
  const auto repeat = [&](const GemmCase& gemm, Operands& operands) {
    const CurrentContext scope(context);
    for (int i = 0; i < (small_scale() ? 4 : 200); ++i)
      EXPECT_TRUE(succeeds(call(handle(), gemm, operands)));
    EXPECT_EQ(driver().stream_synchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  };
  std::thread thread([&] { repeat(one, operands_one); });
  repeat(two, operands_two);
  thread.join();
  operands_one.expect_result(" of the first thread");
  operands_two.expect_result(" of the second thread");
}

// Launches on one stream follow each other: C of one is B of the next.
TEST_F(Streams, AChainOfDependentCalls) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  const std::int64_t n = 64;
  Matrix identity(Dtype::bf16, n, n, n), b(Dtype::bf16, n, n, n), scratch(Dtype::bf16, n, n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) identity.set(i, j, i == (j + 1) % n ? 1.0f : 0.0f);
  fill_matrix(b, Fill::integers, 9);
  GuardedBuffer shift(identity), first(b), second(scratch);
  const float alpha = 1, beta = 0;
  const std::int64_t rounds = small_scale() ? 4 : 2 * n;
  for (std::int64_t i = 0; i < rounds; ++i) {
    GuardedBuffer& from = i % 2 == 0 ? first : second;
    GuardedBuffer& into = i % 2 == 0 ? second : first;
    ASSERT_TRUE(
        succeeds(bwgemmBf16(handle(), BWGEMM_OP_N, BWGEMM_OP_N, n, n, n, &alpha, shift.pointer(), n,
                            from.pointer(), n, &beta, into.pointer(), n)));
  }
  const Matrix& d = first.download();  // after an even number of rotations
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      ASSERT_EQ(d.get((i + rounds) % n, j), b.get(i, j)) << "row " << i << " column " << j;
}

}  // namespace
}  // namespace bwgemm::test
