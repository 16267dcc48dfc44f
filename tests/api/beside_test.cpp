// SPDX-License-Identifier: Apache-2.0
// Calls of one thread in the midst of a call of another: what they may not wait for, and what they
// must not undo. A hook in front of a call of the driver brings them about.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

using namespace std::chrono_literals;

// What is done once, in front of the first call of an entry by the thread that set it.
struct Beside {
  const char* entry;
  std::function<void()> body;
  std::thread::id thread = std::this_thread::get_id();
};

std::atomic<Beside*> beside{nullptr};

void on_call(const char* entry) {
  const Beside* const set = beside;
  if (set == nullptr || std::this_thread::get_id() != set->thread ||
      std::string_view(entry) != set->entry)
    return;
  beside = nullptr;
  set->body();
}

class BesideACall : public FakeHandleTest {
 protected:
  // In another thread; false if it had not returned after a time that no call takes.
  template <class Body>
  bool returns(const Body& body) const {
    auto task = std::make_shared<std::packaged_task<void()>>([body, of = context()] {
      const CurrentContext current(of);
      body();
    });
    auto is_done = task->get_future();
    std::thread([task] { (*task)(); }).detach();
    return is_done.wait_for(30s) == std::future_status::ready;
  }
  void TearDown() override {
    beside = nullptr;
    FakeHandleTest::TearDown();
  }
};

// A launch blocks while its stream's queue is full, perhaps until another thread's call has run:
// that call must not wait for the first, whatever addresses their scratch has.
TEST_F(BesideACall, ALaunchThatBlocksHoldsUpNoOther) {
  constexpr std::size_t bytes = 32 << 20, step = 256, places = 200;
  const DeviceMemory workspaces(2 * bytes + step * places);
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  const Stream one, two;
  ASSERT_EQ(bwgemmSetStream(handle(), one.get()), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetStream(other, two.get()), BWGEMM_STATUS_SUCCESS);
  const auto workspace = [&](std::size_t place) {
    return reinterpret_cast<void*>((workspaces.address() + step - 1) / step * step + place * step);
  };
  ASSERT_EQ(bwgemmSetWorkspace(handle(), workspace(0), bytes), BWGEMM_STATUS_SUCCESS);
  for (std::size_t place = 1; place < places && !HasFailure(); ++place) {
    ASSERT_EQ(bwgemmSetWorkspace(other, workspace(place), bytes), BWGEMM_STATUS_SUCCESS);
    Beside call{"cuLaunchKernelEx", [&] {
                  EXPECT_TRUE(returns([=] {
                    EXPECT_EQ(gemm_ex(other, GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
                  })) << "with a workspace "
                      << place * step << " bytes behind";
                }};
    beside = &call;
    fake_cuda().on_call(on_call);
    EXPECT_EQ(gemm_ex(handle(), GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(beside.load(), nullptr) << "nothing was launched";
    fake_cuda().reset();
  }
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
}

// The same scratch, from two threads: the launches of one call follow each other.
TEST_F(BesideACall, LaunchesOfTwoCallsDoNotMix) {
  ASSERT_EQ(gemm_ex(handle(), GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  std::future<void> second;
  Beside call{"cuLaunchKernelEx", [&] {
                second = std::async(std::launch::async, [&] {
                  const CurrentContext current(context());
                  EXPECT_EQ(gemm_ex(handle(), GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
                });
                // It has time to come first, if nothing holds it.
                while (fake_cuda().calls("cuStreamIsCapturing") < 2) std::this_thread::yield();
                std::this_thread::sleep_for(20ms);
              }};
  beside = &call;
  fake_cuda().on_call(on_call);
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::copied()), BWGEMM_STATUS_SUCCESS);
  second.get();
  ASSERT_EQ(fake_cuda().launches(), 4);
  for (long n = 0; n < 4; ++n) EXPECT_EQ(fake_cuda().launch(n)->is_copy(), n % 2 == 0) << n;
}

std::string slow_kernel;

// The kernel of the last launch, which is the product's.
std::string launched_kernel() {
  const long launches = fake_cuda().launches();
  return launches > 0 ? fake_cuda().launch(launches - 1)->kernel : "none";
}

// A call chose a kernel, and before it remembered its plan, another thread tuned that very problem:
// later calls must do as was tuned.
TEST_F(BesideACall, TuningCountsForLaterCalls) {
  const MatmulCall call = MatmulCall::copied();  // which asks for scratch between the two
  bwgemmHandle_t other = nullptr;
  ASSERT_EQ(bwgemmCreate(&other), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  ASSERT_EQ(matmul(other, call), BWGEMM_STATUS_SUCCESS);
  slow_kernel = launched_kernel();
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);

  const auto tune = [&] {
    const CurrentContext current(context());
    fake_cuda().time_launches(
        [](const FakeLaunch& launch) { return launch.kernel == slow_kernel ? 1e3 : 1.0; });
    EXPECT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                   call.c, call.d, nullptr, nullptr),
              BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
    EXPECT_NE(launched_kernel(), slow_kernel) << "tuning found no other";
  };
  Beside once{"cuStreamIsCapturing", [&] { std::thread(tune).join(); }};
  beside = &once;
  fake_cuda().on_call(on_call);
  ASSERT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(beside.load(), nullptr) << "the call asked for no scratch";
  EXPECT_EQ(launched_kernel(), slow_kernel) << "it chose after the tuning";
  fake_cuda().reset();
  EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS);
  EXPECT_NE(launched_kernel(), slow_kernel) << "an earlier choice is remembered";
}

}  // namespace
}  // namespace bwgemm::test
