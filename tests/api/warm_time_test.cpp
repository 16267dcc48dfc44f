// SPDX-License-Identifier: Apache-2.0
// What a call that is known takes of the host besides the driver: from the entry to the launch and
// back, over a driver that does nothing.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
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

// Bias, scales, aux and a C apart.
MatmulCall with_everything() {
  MatmulCall call = MatmulCall::with_aux();
  call.beta = &MatmulCall::one;
  call.desc.bias = made_up(0x7f0028000000);
  call.desc.rowScale = static_cast<float*>(made_up(0x7f0029000000));
  call.desc.columnScale = static_cast<float*>(made_up(0x7f002a000000));
  return call;
}

void move_vectors(const bwgemmMatmulDesc_t& from, bwgemmMatmulDesc_t& to, int i) {
  to.bias = moved(from.bias, i);
  to.rowScale = static_cast<const float*>(moved(from.rowScale, i));
  to.columnScale = static_cast<const float*>(moved(from.columnScale, i));
}

Kind of_vectors() {
  return {"vectors", [call = with_everything()](bwgemmHandle_t handle, int i) {
            MatmulCall at = call;
            move_vectors(call.desc, at.desc, i);
            return matmul(handle, at);
          }};
}

Kind of_everything() {
  return {"everything", [call = with_everything()](bwgemmHandle_t handle, int i) {
            MatmulCall at = call;
            move_vectors(call.desc, at.desc, i);
            at.desc.aux = moved(call.desc.aux, i), at.c = moved(call.c, i);
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
