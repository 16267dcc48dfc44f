// SPDX-License-Identifier: Apache-2.0
// What a call that is known takes of the host besides the driver: from the entry to the launch and
// back, over a driver that does nothing.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/quick.h"

namespace bwgemm::test {
namespace {

// Of calls in turn, all of which were made before.
constexpr int addresses = 4;

void* moved_in_turn(const void* pointer, int i) {
  const std::uintptr_t by = static_cast<std::uintptr_t>(i % addresses) << 20;
  return device_pointer(reinterpret_cast<std::uintptr_t>(pointer) + by);
}

struct TimedCall {
  std::string name;
  std::function<bwgemmStatus_t(bwgemmHandle_t, int)> call;  // with the i-th addresses
};

TimedCall timed_call(const char* name, GemmArguments gemm, bool is_batched = false) {
  return {name, [gemm, is_batched](bwgemmHandle_t handle, int i) {
            GemmArguments at = gemm;
            at.a = moved_in_turn(gemm.a, i), at.b = moved_in_turn(gemm.b, i),
            at.c = moved_in_turn(gemm.c, i);
            return is_batched ? gemm_batched(handle, at) : gemm_ex(handle, at);
          }};
}

TimedCall timed_call(const char* name, MatmulCall call) {
  return {name, [call](bwgemmHandle_t handle, int i) {
            MatmulCall at = call;
            at.a = moved_in_turn(call.a, i), at.b = moved_in_turn(call.b, i),
            at.d = moved_in_turn(call.d, i);
            return matmul(handle, at);
          }};
}

// Bias, scales, aux and a C apart.
MatmulCall with_all_operands() {
  MatmulCall call = MatmulCall::with_aux();
  call.beta = &MatmulCall::one;
  call.desc.bias = made_up(0x7f0028000000);
  call.desc.rowScale = static_cast<float*>(made_up(0x7f0029000000));
  call.desc.columnScale = static_cast<float*>(made_up(0x7f002a000000));
  return call;
}

void move_vectors(const bwgemmMatmulDesc_t& from, bwgemmMatmulDesc_t& to, int i) {
  to.bias = moved_in_turn(from.bias, i);
  to.rowScale = static_cast<const float*>(moved_in_turn(from.rowScale, i));
  to.columnScale = static_cast<const float*>(moved_in_turn(from.columnScale, i));
}

TimedCall of_vectors() {
  return {"vectors", [call = with_all_operands()](bwgemmHandle_t handle, int i) {
            MatmulCall at = call;
            move_vectors(call.desc, at.desc, i);
            return matmul(handle, at);
          }};
}

TimedCall of_everything() {
  return {"everything", [call = with_all_operands()](bwgemmHandle_t handle, int i) {
            MatmulCall at = call;
            move_vectors(call.desc, at.desc, i);
            at.desc.aux = moved_in_turn(call.desc.aux, i), at.c = moved_in_turn(call.c, i);
            at.a = moved_in_turn(call.a, i), at.b = moved_in_turn(call.b, i),
            at.d = moved_in_turn(call.d, i);
            return matmul(handle, at);
          }};
}

class WarmTime : public FakeHandleTest {
 protected:
  double ns_of(const TimedCall& kind, bool moves) const {
    constexpr int rounds = 200, calls = 200;
    int failures = 0;
    const auto round = [&] {
      for (int i = 0; i < calls; ++i)
        failures += kind.call(handle(), moves ? i : 0) != BWGEMM_STATUS_SUCCESS;
    };
    round();  // from here on all is known
    fake_cuda().be_quick();
    const double ns = best_ns(rounds, calls, round);
    fake_cuda().reset();
    EXPECT_EQ(failures, 0) << kind.name;
    return ns;
  }
};

// 54 to 98 ns, of which up to 11 are this test's. Where operands move each map is looked up in the
// cache of maps: 56 to 161 ns.
TEST_F(WarmTime, IsShort) {
  constexpr double budget_ns = 100, moving_budget_ns = 200;
  for (const TimedCall& kind :
       {timed_call("product", GemmArguments{}), timed_call("batches", GemmArguments{}, true),
        timed_call("split", GemmArguments::split()),
        timed_call("unaligned", GemmArguments::unaligned()),
        timed_call("copied", GemmArguments::copied()), timed_call("matmul", MatmulCall{}),
        timed_call("bias", MatmulCall::with_bias()), timed_call("gate", MatmulCall::gated())}) {
    const double same = ns_of(kind, false), moving = ns_of(kind, true);
    RecordProperty(kind.name + "_ns", static_cast<int>(same));
    RecordProperty(kind.name + "_moving_ns", static_cast<int>(moving));
    std::printf("%-10s %4.0f ns, of other operands %4.0f ns\n", kind.name.c_str(), same, moving);
    if (!judges_times()) continue;
    EXPECT_LT(same, budget_ns) << kind.name;
    EXPECT_LT(moving, moving_budget_ns) << kind.name;
  }
}

// Where vectors move, no map does; where everything moves, six maps are looked up.
TEST_F(WarmTime, OfOtherVectorsIsAsShort) {
  constexpr double more_for_vectors_ns = 20, more_for_everything_ns = 200;
  for (const auto& [kind, budget_ns] : {std::pair(of_vectors(), more_for_vectors_ns),
                                        std::pair(of_everything(), more_for_everything_ns)}) {
    const double same = ns_of(kind, false), more = ns_of(kind, true) - same;
    RecordProperty(kind.name + "_ns", static_cast<int>(same));
    RecordProperty(kind.name + "_moving_more_ns", static_cast<int>(more));
    std::printf("%-10s %4.0f ns, of others %4.0f ns more\n", kind.name.c_str(), same, more);
    if (judges_times()) {
      EXPECT_LT(more, budget_ns) << kind.name;
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
