// SPDX-License-Identifier: Apache-2.0
// Many threads at once over the test double: what is done once is done once, whoever comes first.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <future>
#include <gtest/gtest.h>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/fake_gemm.h"

namespace bwgemm::test {
namespace {

constexpr int threads = 8;

// All threads begin at the same moment.
template <class Body>
void on_all_threads(const Body& body) {
  std::atomic<int> waiting{threads};
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      body(thread);
    });
  for (std::thread& one : running) one.join();
}

using Concurrency = FakeTest;

TEST_F(Concurrency, FirstUsesLoadAndEncodeOnce) {
  for (int round = 0; round < 50; ++round) {
    bwgemmHandle_t handle = nullptr;
    ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    on_all_threads([&](int) {
      EXPECT_EQ(gemm_ex(handle, {}), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    });
    EXPECT_EQ(fake_cuda().launches(), threads);
    EXPECT_EQ(fake_cuda().calls("cuLibraryLoadData"), 1);
    EXPECT_LE(fake_cuda().calls("cuTensorMapEncodeTiled"), 4);  // of A, B, C and D at most
    EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  }
}

// Their plans are one, moved from operand to operand.
TEST_F(Concurrency, EqualCallsKeepTheirOperands) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  std::array<float, threads> alphas{};
  std::array<GemmArguments, threads> calls{};
  std::array<MappedParams, threads> expected{};
  for (std::size_t i = 0; i < threads; ++i) {
    alphas[i] = static_cast<float>(i + 1);
    calls[i].alpha = &alphas[i];
    calls[i].a = device_pointer(0x7f0100000000 + 4096 * i);
    calls[i].b = device_pointer(0x7f0200000000 + 4096 * i);
    calls[i].c = device_pointer(0x7f0300000000 + 4096 * i);
    fake_cuda().reset();
    ASSERT_EQ(gemm_ex(handle, calls[i]), BWGEMM_STATUS_SUCCESS);
    expected[i] = only_launch().params;
  }
  fake_cuda().reset();
  on_all_threads([&](int thread) {
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(gemm_ex(handle, calls[static_cast<std::size_t>(thread)]), BWGEMM_STATUS_SUCCESS);
  });
  ASSERT_EQ(fake_cuda().launches(), 100 * threads);
  for (long n = 0; n < fake_cuda().launches(); ++n) {
    const MappedParams& params = fake_cuda().launch(n)->params;
    const auto i = static_cast<std::size_t>(params.alpha.value) - 1;
    ASSERT_LT(i, expected.size());
    ASSERT_EQ(std::memcmp(&params, &expected[i], sizeof params), 0) << "launch " << n;
  }
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

// They lie in the workspace, here of two handles, which also holds the partial sums of others:
// nothing that uses it may come between a copy and its product.
TEST_F(Concurrency, CopiesAreFollowedByTheirProduct) {
  constexpr long rounds = 100;
  std::array<bwgemmHandle_t, 2> handles{};
  for (bwgemmHandle_t& handle : handles) {
    ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(bwgemmSetWorkspace(handle, device_pointer(0x7f0300000000), std::size_t{24} << 20),
              BWGEMM_STATUS_SUCCESS);
  }
  std::array<float, threads> alphas{};
  std::array<GemmArguments, threads> calls{};
  for (std::size_t i = 0; i < threads; ++i) {
    alphas[i] = static_cast<float>(i);
    calls[i] = i == 0 ? GemmArguments::split() : GemmArguments::copied();
    calls[i].alpha = i == 0 ? &GemmArguments::one : &alphas[i];
    calls[i].a = device_pointer(0x7f0100000000 + 4096 * i);
    calls[i].b = device_pointer(0x7f0200000000 + 4096 * i);
  }
  fake_cuda().reset();
  on_all_threads([&](int thread) {
    for (long i = 0; i < rounds; ++i)
      EXPECT_EQ(gemm_ex(handles[static_cast<std::size_t>(thread) % handles.size()],
                        calls[static_cast<std::size_t>(thread)]),
                BWGEMM_STATUS_SUCCESS);
  });
  ASSERT_EQ(fake_cuda().launches(), rounds * (2 * threads - 1));
  for (long n = 0; n < fake_cuda().launches(); ++n) {
    const FakeLaunch* launch = fake_cuda().launch(n);
    if (!launch->is_copy()) {
      ASSERT_GT(launch->params.splits, 1) << "launch " << n << " has no copies in front of it";
      continue;
    }
    const CopiesParams& copies = launch->copies;
    launch = fake_cuda().launch(++n);
    ASSERT_TRUE(launch != nullptr && !launch->is_copy()) << "launch " << n;
    const auto i = static_cast<std::size_t>(launch->params.alpha.value);
    ASSERT_LT(i, calls.size());
    ASSERT_EQ(copies.operands[0].from, calls[i].b) << "launch " << n << " is of another call";
    ASSERT_EQ(copies.operands[1].from, calls[i].a) << "launch " << n << " is of another call";
  }
  for (bwgemmHandle_t handle : handles) EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

TEST_F(Concurrency, PerThreadStreamsNeverShareScratch) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetStream(handle, CU_STREAM_PER_THREAD), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  std::barrier all_made_calls(threads);  // a thread that ends leaves its scratch to others
  on_all_threads([&](int) {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
    all_made_calls.arrive_and_wait();
  });
  std::set<const float*> partials;
  std::set<const std::uint32_t*> arrivals;
  for (long n = 0; n < fake_cuda().launches(); ++n) {
    partials.insert(fake_cuda().launch(n)->params.partials);
    arrivals.insert(fake_cuda().launch(n)->params.arrivals);
  }
  EXPECT_EQ(partials.size(), static_cast<std::size_t>(threads));
  EXPECT_EQ(arrivals.size(), static_cast<std::size_t>(threads));
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

TEST_F(Concurrency, HandlesComeAndGo) {
  on_all_threads([](int thread) {
    for (int i = 0; i < 30; ++i) {
      bwgemmHandle_t handle = nullptr;
      ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      EXPECT_EQ(gemm_ex(handle, thread % 2 == 0 ? GemmArguments{} : GemmArguments::split()),
                BWGEMM_STATUS_SUCCESS);
      EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
    }
  });
}

// Each thread fails in its own way and reads its own text.
TEST_F(Concurrency, ErrorsStayOnTheirThread) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  on_all_threads([&](int thread) {
    GemmArguments gemm;
    gemm.algo = 1000 + thread;
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(gemm_ex(handle, gemm), BWGEMM_STATUS_INVALID_VALUE);
      EXPECT_NE(std::string(bwgemmGetLastErrorString()).find(std::to_string(gemm.algo)),
                std::string::npos);
    }
  });
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

// While one call waits for memory, calls of other kinds go on, wherever the programs of both lie.
TEST_F(Concurrency, AllocationsHoldUpNoOtherProgram) {
  static bwgemmHandle_t handle;
  static std::thread others;
  static std::atomic<bool> has_allocated{false};
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  const Stream stream;  // which has no scratch yet
  EXPECT_EQ(bwgemmSetStream(handle, stream.get()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().on_call([](const char* entry) {
    if (std::string_view(entry).find("MemAlloc") == std::string_view::npos) return;
    if (has_allocated.exchange(true)) return;
    std::promise<void> promise;
    const std::future<void> made = promise.get_future();
    others = std::thread([made_all = std::move(promise)]() mutable {
      for (int i = 0; i < 300; ++i) {  // of all sets of programs
        GemmArguments plain;
        plain.n += 8 * i;
        EXPECT_EQ(gemm_ex(handle, plain), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
      }
      made_all.set_value();
    });
    EXPECT_EQ(made.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  });
  EXPECT_EQ(gemm_ex(handle, GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().on_call(nullptr);
  ASSERT_TRUE(others.joinable()) << "nothing was allocated";
  others.join();
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
}

}  // namespace
}  // namespace bwgemm::test
