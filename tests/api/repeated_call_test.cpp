// SPDX-License-Identifier: Apache-2.0
// Calls that are like calls before them are not planned again: what they launch, or say, must be
// what a handle that never saw another call launches or says. Each argument and each setting is
// changed between calls, and changed back.
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_gemm.h"

namespace bwgemm::test {
namespace {

// What a call is made with.
struct State {
  GemmArguments gemm;
  bool is_batched = false;
  bwgemmPointerMode_t pointer_mode = BWGEMM_POINTER_MODE_HOST;
  int sm_count_target = 0, programmatic_launch = 0;
  void* workspace = nullptr;
  std::size_t workspace_size = std::size_t{32} << 20;
};

// What came of it.
struct StateOutcome {
  bwgemmStatus_t status = BWGEMM_STATUS_SUCCESS;
  std::string text;
  long launches = 0;
  FakeLaunch launch{};    // of the product
  CopiesParams copies{};  // in front of it
};

void set(bwgemmHandle_t handle, const State& state) {
  ASSERT_EQ(bwgemmSetPointerMode(handle, state.pointer_mode), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetSmCountTarget(handle, state.sm_count_target), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetProgrammaticLaunch(handle, state.programmatic_launch), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmSetWorkspace(handle, state.workspace, state.workspace_size),
            BWGEMM_STATUS_SUCCESS);
}

// Scratch of the library lies elsewhere in each handle: what remains says whether there is some.
void forget_scratch(StateOutcome& outcome, const State& state) {
  MappedParams& params = outcome.launch.params;
  const bool is_the_librarys = state.workspace == nullptr;
  if (is_the_librarys && params.partials != nullptr)
    params.partials = static_cast<float*>(device_pointer(1));
  if (params.arrivals != nullptr) params.arrivals = static_cast<std::uint32_t*>(device_pointer(1));
  std::uintptr_t place = 1;
  for (OperandCopy& copy : outcome.copies.operands) {
    ++place;
    if (!is_the_librarys || copy.units == 0) continue;
    for (TensorMap* map : {&params.a_map, &params.b_map, &params.a_rest_map, &params.b_rest_map})
      if (map->opaque[0] == reinterpret_cast<std::uintptr_t>(copy.to)) map->opaque[0] = place;
    for (StridedMatrix* matrix : {&params.a, &params.b})
      if (matrix->data == copy.to) matrix->data = device_pointer(place);
    copy.to = device_pointer(place);
  }
}

StateOutcome outcome(bwgemmHandle_t handle, const State& state) {
  set(handle, state);
  fake_cuda().reset();
  StateOutcome result;
  result.status = state.is_batched ? gemm_batched(handle, state.gemm) : gemm_ex(handle, state.gemm);
  if (result.status != BWGEMM_STATUS_SUCCESS) result.text = bwgemmGetLastErrorString();
  result.launches = fake_cuda().launches();
  if (result.launches > 0) {
    result.launch = *fake_cuda().launch(result.launches - 1);
    if (result.launches > 1) result.copies = fake_cuda().launch(0)->copies;
    forget_scratch(result, state);
  }
  return result;
}

StateOutcome outcome_of_new_handle(const State& state) {
  bwgemmHandle_t handle = nullptr;
  EXPECT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  const StateOutcome result = outcome(handle, state);
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  return result;
}

void expect_equal(const StateOutcome& seen, const StateOutcome& expected) {
  EXPECT_EQ(seen.status, expected.status) << seen.text << " | " << expected.text;
  EXPECT_EQ(seen.text, expected.text);
  ASSERT_EQ(seen.launches, expected.launches);
  EXPECT_STREQ(seen.launch.kernel, expected.launch.kernel);
  EXPECT_EQ(seen.launch.grid, expected.launch.grid);
  EXPECT_EQ(seen.launch.threads, expected.launch.threads);
  EXPECT_EQ(seen.launch.cluster, expected.launch.cluster);
  EXPECT_EQ(seen.launch.smem_bytes, expected.launch.smem_bytes);
  EXPECT_EQ(seen.launch.stream, expected.launch.stream);
  EXPECT_EQ(seen.launch.overlaps, expected.launch.overlaps);
  EXPECT_EQ(std::memcmp(&seen.launch.params, &expected.launch.params, sizeof(MappedParams)), 0);
  EXPECT_EQ(std::memcmp(&seen.copies, &expected.copies, sizeof(CopiesParams)), 0);
}

struct StateChange {
  const char* name;
  std::function<void(State&)> make;
};

std::vector<StateChange> state_changes() {
  static const float half = 0.5f, two = 2, minus_zero = -0.0f;
  std::vector<StateChange> list = {
      {"nothing", [](State&) {}},
      {"A", [](State& s) { s.gemm.a = moved(s.gemm.a, 4096); }},
      {"B", [](State& s) { s.gemm.b = moved(s.gemm.b, 4096); }},
      {"C", [](State& s) { s.gemm.c = const_cast<void*>(moved(s.gemm.c, 4096)); }},
      {"A and B are the same", [](State& s) { s.gemm.b = s.gemm.a; }},
      {"A and B change places", [](State& s) { std::swap(s.gemm.a, s.gemm.b); }},
      {"A starts at 16 bytes", [](State& s) { s.gemm.a = moved(s.gemm.a, 16); }},
      {"A starts at 2 bytes", [](State& s) { s.gemm.a = moved(s.gemm.a, 2); }},
      {"A starts at 6 bytes", [](State& s) { s.gemm.a = moved(s.gemm.a, 6); }},
      {"A starts at 1 byte", [](State& s) { s.gemm.a = moved(s.gemm.a, 1); }},
      {"C starts at 8 bytes", [](State& s) { s.gemm.c = const_cast<void*>(moved(s.gemm.c, 8)); }},
      {"A is null", [](State& s) { s.gemm.a = nullptr; }},
      {"B is null", [](State& s) { s.gemm.b = nullptr; }},
      {"C is null", [](State& s) { s.gemm.c = nullptr; }},
      {"alpha is null", [](State& s) { s.gemm.alpha = nullptr; }},
      {"beta is null", [](State& s) { s.gemm.beta = nullptr; }},
      {"alpha", [](State& s) { s.gemm.alpha = &half; }},
      {"alpha is zero", [](State& s) { s.gemm.alpha = &minus_zero; }},
      {"alpha is zero and A null",
       [](State& s) { s.gemm.alpha = &GemmArguments::zero, s.gemm.a = nullptr; }},
      {"beta", [](State& s) { s.gemm.beta = &two; }},
      {"m", [](State& s) { s.gemm.m -= 8; }},
      {"n", [](State& s) { s.gemm.n -= 8; }},
      {"k", [](State& s) { s.gemm.k -= 8; }},
      {"m is 0", [](State& s) { s.gemm.m = 0; }},
      {"n is negative", [](State& s) { s.gemm.n = -1; }},
      {"k is 0", [](State& s) { s.gemm.k = 0; }},
      {"lda", [](State& s) { s.gemm.lda += 8; }},
      {"ldb", [](State& s) { s.gemm.ldb += 8; }},
      {"ldc", [](State& s) { s.gemm.ldc += 8; }},
      {"ldc is too small", [](State& s) { s.gemm.ldc = s.gemm.m - 1; }},
      {"transa", [](State& s) { s.gemm.transa = BWGEMM_OP_N; }},
      {"transa is conjugate", [](State& s) { s.gemm.transa = BWGEMM_OP_C; }},
      {"transb", [](State& s) { s.gemm.transb = BWGEMM_OP_T; }},
      {"transb is nothing", [](State& s) { s.gemm.transb = static_cast<bwgemmOperation_t>(9); }},
      {"types", [](State& s) { s.gemm.a_type = s.gemm.b_type = s.gemm.c_type = BWGEMM_R_16F; }},
      {"type of A", [](State& s) { s.gemm.a_type = BWGEMM_R_16F; }},
      {"type of C", [](State& s) { s.gemm.c_type = BWGEMM_R_32F; }},
      {"computeType", [](State& s) { s.gemm.compute_type = static_cast<bwgemmComputeType_t>(64); }},
      {"algo", [](State& s) { s.gemm.algo = 99; }},
      {"algo is unknown", [](State& s) { s.gemm.algo = 50; }},
      {"batched", [](State& s) { s.is_batched = !s.is_batched; }},
      {"multiprocessors", [](State& s) { s.sm_count_target = 8; }},
      {"programmatic launch", [](State& s) { s.programmatic_launch = 1; }},
      {"no workspace", [](State& s) { s.workspace_size = 0; }},
      {"a smaller workspace", [](State& s) { s.workspace_size = 70000; }},
      {"a workspace of the caller's",
       [](State& s) { s.workspace = device_pointer(0x7f0050000000); }},
      {"device scalars",
       [](State& s) {
         s.pointer_mode = BWGEMM_POINTER_MODE_DEVICE;
         s.gemm.alpha = device_pointer(0x7f0030000000);
         s.gemm.beta = device_pointer(0x7f0030000100);
       }},
      {"other device scalars",
       [](State& s) {
         s.pointer_mode = BWGEMM_POINTER_MODE_DEVICE;
         s.gemm.alpha = device_pointer(0x7f0030000200);
         s.gemm.beta = device_pointer(0x7f0030000304);
       }},
      {"misaligned device scalars",
       [](State& s) {
         s.pointer_mode = BWGEMM_POINTER_MODE_DEVICE;
         s.gemm.alpha = device_pointer(0x7f0030000201);
         s.gemm.beta = device_pointer(0x7f0030000304);
       }},
  };
  return list;
}

std::vector<StateChange> batch_changes() {
  return {{"batchCount", [](State& s) { s.gemm.batch_count = 5; }},
          {"batchCount is 0", [](State& s) { s.gemm.batch_count = 0; }},
          {"batchCount is negative", [](State& s) { s.gemm.batch_count = -1; }},
          {"strideA", [](State& s) { s.gemm.stride_a += 64; }},
          {"strideA is 0", [](State& s) { s.gemm.stride_a = 0; }},
          {"strideB", [](State& s) { s.gemm.stride_b += 64; }},
          {"strideC", [](State& s) { s.gemm.stride_c += 64; }},
          {"strideC is too small", [](State& s) { s.gemm.stride_c = 1; }}};
}

std::vector<std::pair<const char*, State>> states() {
  State tma, few_rows, split, unaligned, copied, divided, batched, copied_batches;
  few_rows.gemm.n = 8;
  split.gemm = GemmArguments::split();
  unaligned.gemm = GemmArguments::unaligned();
  copied.gemm = copied_batches.gemm = GemmArguments::copied();
  divided.gemm = GemmArguments::copied();  // without the workspace for both, or all of A
  divided.gemm.lda = 1040, divided.workspace_size = 2 * 1088 * 512;
  batched.is_batched = copied_batches.is_batched = true;
  return {
      {"tma", tma},         {"few rows", few_rows},
      {"split", split},     {"unaligned", unaligned},
      {"copied", copied},   {"divided", divided},
      {"batched", batched}, {"copied batches", copied_batches},
  };
}

class RepeatedCall : public FakeHandleTest {
 protected:
  // The change between two calls like the one before; everything twice, as a call may be known from
  // the first one on.
  void expect_change_is_seen(const State& before, const StateChange& change) const {
    SCOPED_TRACE(change.name);
    State after = before;
    change.make(after);
    const StateOutcome expected_before = outcome_of_new_handle(before);
    const StateOutcome expected_after = outcome_of_new_handle(after);
    for (int i = 0; i < 2; ++i) {
      expect_equal(outcome(handle(), before), expected_before);
      expect_equal(outcome(handle(), after), expected_after);
      expect_equal(outcome(handle(), after), expected_after);
    }
  }
};

TEST_F(RepeatedCall, SeesEveryChange) {
  for (const auto& [name, state] : states()) {
    SCOPED_TRACE(name);
    for (const StateChange& change : state_changes()) expect_change_is_seen(state, change);
    if (state.is_batched)
      for (const StateChange& change : batch_changes()) expect_change_is_seen(state, change);
  }
}

TEST_F(RepeatedCall, FollowsTheStream) {
  const Stream first, second;
  for (const auto& [name, state] : states()) {
    SCOPED_TRACE(name);
    std::vector<const float*> partials;
    for (const Stream* stream : {&first, &second, &first, &second}) {
      ASSERT_EQ(bwgemmSetStream(handle(), stream->get()), BWGEMM_STATUS_SUCCESS);
      fake_cuda().reset();
      ASSERT_EQ(gemm_ex(handle(), state.gemm), BWGEMM_STATUS_SUCCESS);
      const long launches = fake_cuda().launches();
      for (long i = 0; i < launches; ++i) EXPECT_EQ(fake_cuda().launch(i)->stream, stream->get());
      partials.push_back(fake_cuda().launch(launches - 1)->params.partials);
    }
    EXPECT_EQ(partials[0], partials[2]);
    EXPECT_EQ(partials[1], partials[3]);
    EXPECT_EQ(partials[0] != partials[1], partials[0] != nullptr);
  }
  ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
}

TEST_F(RepeatedCall, MoreShapesThanAreRemembered) {
  for (int round = 0; round < 2; ++round)
    for (std::int64_t k = 8; k <= 8 * 600; k += 8) {
      State state;
      state.gemm.k = state.gemm.lda = state.gemm.ldb = k;
      const StateOutcome seen = outcome(handle(), state);
      ASSERT_EQ(seen.launches, 1);
      EXPECT_EQ(seen.launch.params.k, k);
    }
}

TEST_F(RepeatedCall, AMapThatCannotBeMadeLeavesTheRestUsable) {
  State tma, copied;
  copied.gemm = GemmArguments::copied();
  for (const State& state : {tma, copied}) {
    State other = state;
    other.gemm.b = moved(state.gemm.b, 4096);
    other.gemm.c = const_cast<void*>(moved(state.gemm.c, 4096));
    const StateOutcome expected = outcome(handle(), state);
    const StateOutcome expected_other = outcome_of_new_handle(other);
    set(handle(), other);
    fake_cuda().fail_entry("cuTensorMapEncodeTiled", CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gemm_ex(handle(), other.gemm), BWGEMM_STATUS_INTERNAL_ERROR);
    expect_equal(outcome(handle(), state), expected);
    expect_equal(outcome(handle(), other), expected_other);
  }
}

}  // namespace
}  // namespace bwgemm::test
