// SPDX-License-Identifier: Apache-2.0
// The timing mode on programs whose time can be worked out by hand, and what must hold of any.
#include <cstdio>
#include <fstream>

#include "vgpu/ptx/program.h"
#include "vgpu/support/ptx_case.h"
#include "vgpu/timing/prediction.h"
#include "vgpu/timing/timeline.h"

namespace bwgemm::vgpu {
namespace {

// Whole numbers; what a test is not about costs nothing or is never short.
Constants simple() {
  Constants c{};
  c.sm_count = 8;
  c.sampled_sms = 8;
  c.clock_ghz = 1;
  c.issue_cycles = c.instruction_cycles = 1;
  c.tma_rows_per_cycle = c.tma_bytes_per_cycle = c.l2_bytes_per_cycle = 1e9;
  c.outside_rows_per_cycle = c.hbm_bytes_per_cycle = 1e9;
  c.l2_straddle = c.write_factor = c.write_straddle = 1;
  c.port_bytes_per_cycle = 64;
  c.store_bytes_per_cycle = c.shared_bytes_per_cycle = 128;
  c.wgmma_column_cycles = 0.5;
  c.tensor_load_bytes_per_cycle = 1;
  c.power_idle = 1;
  c.power_exponent = 1;
  return c;
}

struct TimedCase : PtxCase {
  Constants constants = simple();
  std::uint32_t ctas_per_sm = 1;

  TimedCase() {
    map.address = memory.allocate(1 << 16);
    map.rank = 2;
    map.element = TensorElement::u16;
    map.extent = {64, 512, 1, 1, 1};
    map.stride[0] = 128;
    map.box = {64, 32, 1, 1, 1};  // 4096 bytes
    map.element_stride.fill(1);
    threads = 128;
    ctas = 1;
  }
  Prediction predict(const std::string& body) {
    std::uint64_t out = 0;
    const LaunchRequest request = request_of(body, out);
    Prediction prediction = vgpu::predict(request, memory, constants, ctas_per_sm, findings);
    EXPECT_EQ(kinds(), "");
    return prediction;
  }
  double cycles(const std::string& body) { return predict(body).cycles; }
};

// Loaded registers share places with one another, and not with what is there at once.
TEST(Timing, OnlyUsersOfLoadsWaitForThem) {
  const auto module = Module::parse(ptx_with_body(R"(
    .reg .b32 loaded; .reg .b32 parameter; .reg .b32 sum;
    ld.global.u32 loaded, [%rd0]; add.s32 %r1, loaded, 1;
    ld.param.u32 parameter, [out]; sub.s32 sum, parameter, 1;
    st.global.u32 [%rd0], sum; st.global.u32 [%rd0+4], %r1;)"),
                                    "test");
  const Program& program = *module->program("k");
  const auto times = instruction_times(program, simple());
  const auto waits = [&](std::string_view opcode) {
    for (std::size_t i = 0; i < times.size(); ++i)
      if (program.opcode(program.code[i]) == opcode) return times[i].uses_load;
    ADD_FAILURE() << opcode;
    return false;
  };
  EXPECT_TRUE(waits("add.s32"));
  EXPECT_FALSE(waits("sub.s32"));
}

std::string loads(int count) {
  std::string text = joined({R"(
    mov.u32 %r1, smem; add.s32 %r2, %r1, 16000; setp.ne.s32 %p1, %r0, 0;
    @%p1 bra done;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], )",
                             std::to_string(count * 4096), ";"});
  for (int i = 0; i < count; ++i)
    text +=
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
        "[%rd1, {0, 0}], [%r2];";
  return text + R"(
    again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra again;
    done:)";
}

std::string products(int count, int columns) {
  std::string text = R"(setp.ne.s32 %p3, 0, 0; mov.u64 %rd2, 64; wgmma.fence.sync.aligned;)";
  for (int i = 0; i < count; ++i) {
    text += joined(
        {"wgmma.mma_async.sync.aligned.m64n", std::to_string(columns), "k16.f32.bf16.bf16 {"});
    for (int r = 0; r < columns / 2; ++r) text += (r ? ", %f" : "%f") + std::to_string(r);
    text += "}, %rd2, %rd2, %p3, 1, 1, 0, 0;";
  }
  return text + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
}

TEST(Timing, ALoadTakesItsBytesOverTheRateOfItsSm) {
  TimedCase test;
  const double one = test.cycles(loads(1)), two = test.cycles(loads(2));
  EXPECT_EQ(two - one, 4096 / 64);
  test.constants.tma_latency = 500;
  EXPECT_EQ(test.cycles(loads(1)) - one, 500);
  EXPECT_EQ(test.cycles(loads(2)) - two, 500);  // on their way together
}

TEST(Timing, SmsShareTheChip) {
  TimedCase test;
  test.constants.l2_bytes_per_cycle = 64;
  const double alone = test.cycles(loads(1));
  test.ctas = 8;
  EXPECT_EQ(test.cycles(loads(1)) - alone, 7 * 4096 / 64);
  test.constants.sampled_sms = 2;  // of which each asks for four
  EXPECT_EQ(test.cycles(loads(1)) - alone, 7 * 4096 / 64);
}

TEST(Timing, NeighboursThatAskForTheSameAreServedOnce) {
  TimedCase test;
  test.ctas = 2;
  test.constants.l2_bytes_per_cycle = 64;
  const double apart = test.cycles(loads(1));
  test.constants.l2_merge_cycles = 100;
  EXPECT_EQ(apart - test.cycles(loads(1)), 4096 / 64);
}

// 4096 of the 65536 bytes of the tensor are asked for, all of them the first time.
TEST(Timing, WhatNobodyHasAskedForComesFromMemory) {
  TimedCase test;
  test.constants.hbm_bytes_per_cycle = 4;
  test.map.extent[1] = 32;
  const double cold = test.cycles(loads(1));
  EXPECT_NEAR(cold - test.cycles(loads(4)) / 4, cold * 3 / 4, 200);
  EXPECT_GT(cold, 1024);
}

TEST(Timing, ProductsTakeTheirColumnsOrTheirOperands) {
  TimedCase test;
  EXPECT_EQ(test.cycles(products(8, 64)) - test.cycles(products(4, 64)), 4 * 32);
  test.constants.shared_bytes_per_cycle = 64;  // (64 + 64) rows of 32 bytes
  EXPECT_EQ(test.cycles(products(8, 64)) - test.cycles(products(4, 64)), 4 * 64);
}

// A warp's lanes each write a word, `stride` bytes apart.
std::string stores(int count, std::uint64_t to, int stride) {
  std::string text = joined({"mul.wide.u32 %rd2, %r0, ", std::to_string(stride),
                             "; add.s64 %rd2, %rd2, ", std::to_string(to), ";"});
  for (int i = 0; i < count; ++i) text += "st.global.u32 [%rd2], %r0;";
  return text;
}

TEST(Timing, StoresOfThreadsLeaveALineAtATime) {
  TimedCase test;
  test.threads = 32;
  const auto cycles = [&](int count, int stride) {
    return test.cycles(stores(count, test.map.address, stride));
  };
  EXPECT_EQ(cycles(8, 128) - cycles(4, 128), 4 * 32);
  EXPECT_EQ(cycles(8, 4) - cycles(4, 4), 4);
}

TEST(Timing, AGridTakesItsWaves) {
  TimedCase test;
  test.ctas = 8;
  const double one = test.cycles(products(64, 64));
  test.ctas = 17;
  test.constants.exit_cycles = 10;
  EXPECT_EQ(test.cycles(products(64, 64)), 3 * one + 2 * 10);
  test.ctas_per_sm = 2;  // two share an SM's tensor cores
  EXPECT_NEAR(test.cycles(products(64, 64)), 3 * one, 0.1 * one);
}

TEST(Timing, HalfARateIsNeverFaster) {
  TimedCase test;
  const std::string body = loads(3) + products(4, 64);
  Constants base = simple();
  base.tma_bytes_per_cycle = base.l2_bytes_per_cycle = base.hbm_bytes_per_cycle = 64;
  test.constants = base;
  const double before = test.cycles(body);
  for (double Constants::*rate :
       {&Constants::port_bytes_per_cycle, &Constants::l2_bytes_per_cycle,
        &Constants::hbm_bytes_per_cycle, &Constants::tma_bytes_per_cycle}) {
    test.constants = base;
    test.constants.*rate /= 2;
    EXPECT_GT(test.cycles(body), before);
  }
}

TEST(Timing, PowerSlowsTheClock) {
  TimedCase test;
  const Prediction cool = test.predict(products(64, 64));
  EXPECT_EQ(cool.clock_ghz, 1);
  test.constants.power_tensor = 8;
  const Prediction hot = test.predict(products(64, 64));
  EXPECT_NEAR(hot.clock_ghz, 1 / (1 + 8 * hot.tensor_share), 1e-9);
  EXPECT_EQ(hot.cycles, cool.cycles);
  EXPECT_GT(hot.us, cool.us);
}

TEST(Timing, SaysWhatIsWaitedFor) {
  TimedCase test;
  test.constants.tma_latency = 5000;
  const Prediction prediction = test.predict(loads(1));
  EXPECT_NEAR(prediction.by_role[Prediction::loads].waits[Prediction::operands], 5064, 10);
  EXPECT_EQ(prediction.by_role[Prediction::loads].warps, 1);
}

TEST(Timing, IsMarkedAndRepeatable) {
  TimedCase test;
  test.ctas = 20;
  const Prediction once = test.predict(loads(2) + products(4, 64));
  EXPECT_EQ(once.csv(), test.predict(loads(2) + products(4, 64)).csv());
  EXPECT_TRUE(once.csv().starts_with("predicted,"));
  const std::string text = once.text();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_EQ(text.substr(at, 9), "predicted");
}

TEST(Timing, ConstantsAreClosed) {
  const std::string path = testing::TempDir() + "constants.txt";
  const auto refused = [&](const std::string& text) {
    std::ofstream(path) << text;
    try {
      Constants::read(path);
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).substr(path.size() + 2);
    }
    return std::string();
  };
  EXPECT_EQ(refused("sm_count 8 test\nwarp_speed 9 test\n"), "warp_speed is not known");
  EXPECT_EQ(refused("sm_count 8 test\nsm_count 8 test\n"), "sm_count is there twice");
  EXPECT_EQ(refused("sm_count 8\n"), "sm_count needs a value and a source");
  EXPECT_EQ(refused("# nothing\n"), "sm_count is missing");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace bwgemm::vgpu
