// SPDX-License-Identifier: Apache-2.0
// What a call that is known takes of the host besides the driver: from the entry to the launch and
// back, over a driver that does nothing.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/quick.h"

namespace bwgemm::test {
namespace {

// Of calls in turn, all of which were made before.
constexpr int addresses = 4;

void* moved(const void* pointer, int i) {
  const std::uintptr_t by = static_cast<std::uintptr_t>(i % addresses) << 20;
  return device_pointer(reinterpret_cast<std::uintptr_t>(pointer) + by);
}

struct Kind {
  std::string name;
  std::function<bwgemmStatus_t(bwgemmHandle_t, int)> call;  // with the i-th addresses
};

Kind kind_of(const char* name, GemmArguments gemm, bool is_batched = false) {
  return {name, [gemm, is_batched](bwgemmHandle_t handle, int i) {
            GemmArguments at = gemm;
            at.a = moved(gemm.a, i), at.b = moved(gemm.b, i), at.c = moved(gemm.c, i);
            return is_batched ? gemm_batched(handle, at) : gemm_ex(handle, at);
          }};
}

Kind kind_of(const char* name, MatmulCall call) {
  return {name, [call](bwgemmHandle_t handle, int i) {
            MatmulCall at = call;
            at.a = moved(call.a, i), at.b = moved(call.b, i), at.d = moved(call.d, i);
            return matmul(handle, at);
          }};
}

class WarmTime : public FakeHandleTest {
 protected:
  double ns_of(const Kind& kind, bool moves) const {
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
  for (const Kind& kind :
       {kind_of("product", GemmArguments{}), kind_of("batches", GemmArguments{}, true),
        kind_of("split", GemmArguments::split()), kind_of("unaligned", GemmArguments::unaligned()),
        kind_of("copied", GemmArguments::copied()), kind_of("matmul", MatmulCall{}),
        kind_of("bias", MatmulCall::with_bias()), kind_of("gate", MatmulCall::gated())}) {
    const double same = ns_of(kind, false), moving = ns_of(kind, true);
    RecordProperty(kind.name + "_ns", static_cast<int>(same));
    RecordProperty(kind.name + "_moving_ns", static_cast<int>(moving));
    std::printf("%-10s %4.0f ns, of other operands %4.0f ns\n", kind.name.c_str(), same, moving);
    if (!judges_times()) continue;
    EXPECT_LT(same, budget_ns) << kind.name;
    EXPECT_LT(moving, moving_budget_ns) << kind.name;
  }
}

}  // namespace
}  // namespace bwgemm::test
