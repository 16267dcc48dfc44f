// SPDX-License-Identifier: Apache-2.0
// GEMM calls on one handle from many threads, and many handles.
#include <gtest/gtest.h>
#include <thread>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

// Of a few shape classes, so that threads meet in loading kernels and encoding tensor maps.
GemmCase problem(int thread, int round) {
  GemmCase gemm{.fill = Fill::integers};
  gemm.transa = (thread + round) % 2 == 0 ? BWGEMM_OP_T : BWGEMM_OP_N;
  gemm.transb = round % 3 == 0 ? BWGEMM_OP_T : BWGEMM_OP_N;
  gemm.m = 40 + 32 * (thread % 5), gemm.n = 24 + 40 * (round % 4),
  gemm.k = round % 2 == 0  ? 136
           : small_scale() ? 1032
                           : 4104;
  gemm.input = thread % 3 == 0 ? Dtype::f16 : Dtype::bf16;
  gemm.output = round % 2 == 0 ? gemm.input : Dtype::f32;
  gemm.ld_multiple = round % 3 == 1 ? 1 : 8;
  gemm.seed = static_cast<std::uint64_t>(100 * thread + round + 1);
  return gemm;
}

class Threads : public HandleTest {
 protected:
  static constexpr int threads = 8;
  const int rounds = small_scale() ? 2 : 12;

  template <class Body>
  void on_all_threads(const Body& body) const {
    CUcontext context = nullptr;
    check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread)
      running.emplace_back([&body, thread, context] {
        const CurrentContext scope(context);
        body(thread);
      });
    for (std::thread& one : running) one.join();
  }
};

TEST_F(Threads, OneHandle) {
  on_all_threads([&](int thread) {
    for (int round = 0; round < rounds; ++round) run(handle(), problem(thread, round));
  });
}

TEST_F(Threads, OneHandleOnThePerThreadStream) {
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), CU_STREAM_PER_THREAD)));
  on_all_threads([&](int thread) {
    for (int round = 0; round < rounds; ++round) run(handle(), problem(thread, round));
  });
}

TEST_F(Threads, AHandlePerThreadAndRound) {
  on_all_threads([&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      const Stream stream;
      const Handle own;
      ASSERT_TRUE(succeeds(bwgemmSetStream(own.get(), stream.get())));
      run(own.get(), problem(thread, round));
    }
  });
}

// All calls of all threads are queued before any result is looked at.
TEST_F(Threads, InFlightTogether) {
  on_all_threads([&](int thread) {
    std::vector<GemmCase> cases;
    std::vector<std::unique_ptr<Operands>> operands;
    for (int round = 0; round < rounds; ++round) {
      cases.push_back(problem(thread, round));
      operands.push_back(std::make_unique<Operands>(cases.back()));
    }
    for (std::size_t i = 0; i < cases.size(); ++i)
      EXPECT_TRUE(succeeds(call(handle(), cases[i], *operands[i])));
    for (const auto& one : operands) one->expect_result();
  });
}

TEST_F(Threads, ManyHandles) {
  const int count = small_scale() ? 4 : 64;
  std::vector<std::unique_ptr<Handle>> handles;
  for (int i = 0; i < count; ++i) handles.push_back(std::make_unique<Handle>());
  for (int i = 0; i < count; ++i)
    run(handles[static_cast<std::size_t>(i)]->get(), problem(i % threads, i % 12));
}

TEST_F(Threads, ErrorsStayOnTheirThread) {
  ASSERT_EQ(bwgemmSetSmCountTarget(handle(), -7), BWGEMM_STATUS_INVALID_VALUE);
  const std::string mine = bwgemmGetLastErrorString();
  EXPECT_NE(mine.find("-7"), std::string::npos) << mine;
  std::thread([&] { EXPECT_STREQ(bwgemmGetLastErrorString(), ""); }).join();
  EXPECT_EQ(bwgemmGetLastErrorString(), mine);
}

}  // namespace
}  // namespace bwgemm::test
