// SPDX-License-Identifier: Apache-2.0
// Two layers of one shape that are called in turn, of which every address differs: from the second
// call on nothing is validated, selected, encoded or allocated, and each launch has the parameters
// of its layer.
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "api/heap.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/subprocess.h"

namespace bwgemm::test {
namespace {

constexpr int alternating = 1000;

template <class Pointer>
void move(Pointer& pointer, std::uintptr_t by) {
  if (pointer != nullptr)
    pointer = static_cast<Pointer>(made_up(reinterpret_cast<std::uintptr_t>(pointer) + by));
}

void move_vectors(bwgemmMatmulDesc_t& desc, std::uintptr_t by) {
  move(desc.bias, by);
  move(desc.rowScale, by);
  move(desc.columnScale, by);
  move(desc.biasGradient, by);
}

// The same with everything elsewhere.
MatmulCall other_layer(MatmulCall call, std::uintptr_t by = 0x40000000) {
  move_vectors(call.desc, by);
  move(call.desc.aux, by);
  const bool is_c_d = call.c == call.d;
  move(call.a, by);
  move(call.b, by);
  move(call.d, by);
  move(call.c, by);
  if (is_c_d) call.c = call.d;
  static constexpr float other_alpha = 3;
  if (call.alpha == &MatmulCall::one) call.alpha = &other_alpha;
  return call;
}

MatmulCall scaled() {
  MatmulCall call = MatmulCall::with_bias();
  call.beta = &MatmulCall::one;
  call.desc.rowScale = static_cast<float*>(made_up(0x7f0029000000));
  call.desc.columnScale = static_cast<float*>(made_up(0x7f002a000000));
  return call;
}

// Every vector and matrix that a call can have.
MatmulCall everything() {
  MatmulCall call = scaled();
  call.desc.activation = BWGEMM_ACTIVATION_RELU;
  call.desc.auxMode = BWGEMM_AUX_STORE;
  call.desc.aux = made_up(0x7f0030000000);
  call.desc.ldaux = 256;
  call.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_D_ROWS;
  call.desc.biasGradient = made_up(0x7f0038000000);
  return call;
}

struct Kind {
  const char* name;
  MatmulCall call;
  long launches = 1;
};

std::vector<Kind> kinds() {
  MatmulCall added, unaligned, divided, copied_apart = MatmulCall::copied();
  added.c = added.d, added.beta = &MatmulCall::one;
  // Wide and deep: a copy of B would take longer than moving its lines.
  unaligned.desc.m = unaligned.desc.ldc = unaligned.desc.ldd = 264, unaligned.desc.n = 8200;
  unaligned.desc.k = unaligned.desc.lda = 4096, unaligned.desc.ldb = 4099;
  copied_apart.beta = &MatmulCall::one;
  divided.beta = &MatmulCall::one;
  divided.desc.m = divided.desc.n = divided.desc.ldb = divided.desc.ldc = divided.desc.ldd = 8192;
  divided.desc.k = 8191, divided.desc.lda = 8193;
  return {{"plain", {}},
          {"bias", MatmulCall::with_bias()},
          {"C that is D", added},
          {"C apart and scales", scaled()},
          {"everything", everything(), 2},
          {"derivative", MatmulCall::with_aux(BWGEMM_AUX_DERIVATIVE)},
          {"gate", MatmulCall::gated()},
          {"split", MatmulCall::split()},
          {"unaligned", unaligned},
          {"arrays", MatmulCall::with_arrays()},
          {"copied, C apart", copied_apart, 2},
          {"divided, C apart", divided, 8}};
}

// What a call launched, byte for byte.
std::string launched(long first, long count) {
  std::string all;
  for (long i = first; i < first + count; ++i) {
    const FakeLaunch& launch = *fake_cuda().launch(i);
    all.append(launch.kernel).append(std::to_string(launch.grid));
    all.append(reinterpret_cast<const char*>(&launch.params), sizeof launch.params);
    all.append(reinterpret_cast<const char*>(&launch.bias_gradient), sizeof launch.bias_gradient);
    all.append(reinterpret_cast<const char*>(&launch.copies), sizeof launch.copies);
  }
  return all;
}

class Layers : public FakeHandleTest {
 protected:
  std::string launched_by(const MatmulCall& call) const {
    fake_cuda().reset();
    EXPECT_EQ(matmul(handle(), call), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    return launched(0, fake_cuda().launches());
  }
};

TEST_F(Layers, CalledInTurnTakeNothing) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const MatmulCall layers[] = {kind.call, other_layer(kind.call)};
    const std::string expected[] = {launched_by(layers[0]), launched_by(layers[1])};
    ASSERT_NE(expected[0], expected[1]);
    fake_cuda().reset();
    int failures = 0;
    const long heap = heap_calls_of([&] {
      for (int i = 0; i < alternating; ++i)
        failures += matmul(handle(), layers[i % 2]) != BWGEMM_STATUS_SUCCESS;
    });
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(fake_cuda().launches(), alternating * kind.launches);
    EXPECT_EQ(fake_cuda().calls("cuTensorMapEncodeTiled"), 0);
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
    if (has_own_heap) {
      EXPECT_EQ(heap, 0);
    }
    for (const int i : {0, 1}) EXPECT_EQ(launched_by(layers[i]), expected[i]) << i;
  }
}

// Maps are made of the addresses that were never seen, and of no others.
TEST_F(Layers, NewAddressesAreTheOnlyOnesThatAreEncoded) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    launched_by(kind.call);
    const long first = fake_cuda().calls("cuTensorMapEncodeTiled");
    MatmulCall call = kind.call;
    move_vectors(call.desc, 0x50000000);
    move(call.desc.aux, 0x50000000);
    launched_by(call);
    EXPECT_EQ(fake_cuda().calls("cuTensorMapEncodeTiled"), 0) << "no map is of a vector or of aux";
    launched_by(other_layer(kind.call, 0x60000000));
    EXPECT_LE(fake_cuda().calls("cuTensorMapEncodeTiled"), first);
  }
}

// A new handle's launches: what a moved program launches is what a program of its own would.
TEST_F(Layers, LaunchWhatANewHandleLaunches) {
  for (const Kind& kind : kinds()) {
    if (std::string_view(kind.name).find("copied") != std::string_view::npos) continue;
    if (kind.launches > 1 || kind.call.desc.k == MatmulCall::split().desc.k) continue;  // scratch
    SCOPED_TRACE(kind.name);
    launched_by(kind.call);
    const std::string moved = launched_by(other_layer(kind.call));
    bwgemmHandle_t fresh = nullptr;
    ASSERT_EQ(bwgemmCreate(&fresh), BWGEMM_STATUS_SUCCESS);
    fake_cuda().reset();
    EXPECT_EQ(matmul(fresh, other_layer(kind.call)), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(launched(0, fake_cuda().launches()), moved);
    EXPECT_EQ(bwgemmDestroy(fresh), BWGEMM_STATUS_SUCCESS);
  }
}

using LayersProbe = FakeHandleTest;

TEST_F(LayersProbe, DISABLED_InTurn) {
  const MatmulCall layers[] = {everything(), other_layer(everything())};
  for (int i = 0; i < alternating; ++i)
    ASSERT_EQ(matmul(handle(), layers[i % 2]), BWGEMM_STATUS_SUCCESS);
}

// The log tells each selection, and how many calls were validated for the first time.
TEST(LayersLogged, OneCallIsSelectedFor) {
  const ProcessResult result =
      run_self("LayersProbe.DISABLED_InTurn", {{"BWGEMM_LOG_LEVEL", "debug"}});
  ASSERT_TRUE(result.passed()) << result.output;
  std::size_t selections = 0;
  const std::string_view report = "problem    m ";
  for (std::size_t at = result.output.find(report); at != std::string::npos;
       at = result.output.find(report, at + 1))
    ++selections;
  EXPECT_EQ(selections, 1u);
  EXPECT_THAT(result.output, ::testing::HasSubstr("programs: 999 calls were known, 1 were not"));
}

}  // namespace
}  // namespace bwgemm::test
