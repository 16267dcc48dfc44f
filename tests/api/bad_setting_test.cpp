// SPDX-License-Identifier: Apache-2.0
// Bad handles for every entry point, and what the setters and getters refuse.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "support/fake_gemm.h"
#include "support/matmul_call.h"

namespace bwgemm::test {
namespace {

// ---- handles ------------------------------------------------------------------------------------

struct HandleEntry {
  const char* name;
  std::function<bwgemmStatus_t(bwgemmHandle_t)> call;
};

std::vector<HandleEntry> handle_entries() {
  std::vector<HandleEntry> entries = {
      {"bwgemmSetStream", [](auto h) { return bwgemmSetStream(h, nullptr); }},
      {"bwgemmGetStream",
       [](auto h) {
         CUstream s;
         return bwgemmGetStream(h, &s);
       }},
      {"bwgemmSetWorkspace", [](auto h) { return bwgemmSetWorkspace(h, nullptr, 0); }},
      {"bwgemmGetWorkspace",
       [](auto h) {
         void* p;
         std::size_t s;
         return bwgemmGetWorkspace(h, &p, &s);
       }},
      {"bwgemmSetPointerMode",
       [](auto h) { return bwgemmSetPointerMode(h, BWGEMM_POINTER_MODE_HOST); }},
      {"bwgemmGetPointerMode",
       [](auto h) {
         bwgemmPointerMode_t m;
         return bwgemmGetPointerMode(h, &m);
       }},
      {"bwgemmSetSmCountTarget", [](auto h) { return bwgemmSetSmCountTarget(h, 0); }},
      {"bwgemmGetSmCountTarget",
       [](auto h) {
         int n;
         return bwgemmGetSmCountTarget(h, &n);
       }},
      {"bwgemmSetDeterminism",
       [](auto h) { return bwgemmSetDeterminism(h, BWGEMM_DETERMINISM_BITWISE); }},
      {"bwgemmGetDeterminism",
       [](auto h) {
         bwgemmDeterminism_t d;
         return bwgemmGetDeterminism(h, &d);
       }},
      {"bwgemmSetTuneMode", [](auto h) { return bwgemmSetTuneMode(h, BWGEMM_TUNE_ON); }},
      {"bwgemmGetTuneMode",
       [](auto h) {
         bwgemmTuneMode_t m;
         return bwgemmGetTuneMode(h, &m);
       }},
      {"bwgemmSetProgrammaticLaunch", [](auto h) { return bwgemmSetProgrammaticLaunch(h, 0); }},
      {"bwgemmSetTuningCache", [](auto h) { return bwgemmSetTuningCache(h, nullptr); }},
      {"bwgemmMatmulGetAlgos",
       [](auto h) {
         const MatmulCall call;
         std::size_t count;
         return bwgemmMatmulGetAlgos(h, &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                                     call.d, nullptr, 0, &count);
       }},
      {"bwgemmMatmulAutotune",
       [](auto h) {
         const MatmulCall call;
         const bwgemmAutotuneOptions_t options{sizeof options, 1, 1, 0, 0};
         return bwgemmMatmulAutotune(h, &call.desc, call.alpha, call.a, call.b, call.beta, call.c,
                                     call.d, &options, nullptr);
       }},
      {"bwgemmGetProgrammaticLaunch",
       [](auto h) {
         int n;
         return bwgemmGetProgrammaticLaunch(h, &n);
       }},
  };
  for (const GemmEntry& entry : gemm_entries)
    entries.push_back({entry.name, [&entry](auto h) {
                         GemmArguments gemm;
                         std::size_t size = 0;
                         char text[16];
                         gemm.workspace_size = &size, gemm.text = text,
                         gemm.text_size = sizeof text;
                         return entry.call(h, gemm);
                       }});
  return entries;
}

void expect_refused(bwgemmHandle_t handle, const char* kind) {
  for (const HandleEntry& entry : handle_entries()) {
    if (handle == nullptr && std::string_view(entry.name) == "bwgemmExplain") continue;
    EXPECT_EQ(entry.call(handle), BWGEMM_STATUS_NOT_INITIALIZED)
        << entry.name << ", handle " << kind;
    EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr("handle")) << entry.name;
  }
  EXPECT_EQ(fake_cuda().launches(), 0);
}

using BadHandles = FakeTest;

TEST_F(BadHandles, Null) {
  expect_refused(nullptr, "null");
  EXPECT_EQ(bwgemmDestroy(nullptr), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmCreate(nullptr), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr("handle"));
}

TEST_F(BadHandles, Destroyed) {
  bwgemmHandle_t handle = nullptr;
  ASSERT_EQ(bwgemmCreate(&handle), BWGEMM_STATUS_SUCCESS);
  ASSERT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_SUCCESS);
  expect_refused(handle, "destroyed");
  EXPECT_EQ(bwgemmDestroy(handle), BWGEMM_STATUS_NOT_INITIALIZED);
}

TEST_F(BadHandles, NeverCreated) {
  alignas(64) char memory[256] = {};
  expect_refused(reinterpret_cast<bwgemmHandle_t>(memory), "garbage");
}

// ---- setters and getters ------------------------------------------------------------------------

using BadSettings = FakeHandleTest;

TEST_F(BadSettings, AreRefusedAndNotStored) {
  for (const int mode : {-1, 2, 0x7fffffff}) {
    EXPECT_EQ(bwgemmSetPointerMode(handle(), static_cast<bwgemmPointerMode_t>(mode)),
              BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "mode")) << bwgemmGetLastErrorString();
    EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr(std::to_string(mode)));
  }
  for (const int mode : {-1, 2, 0x7fffffff}) {
    EXPECT_EQ(bwgemmSetDeterminism(handle(), static_cast<bwgemmDeterminism_t>(mode)),
              BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "mode")) << bwgemmGetLastErrorString();
  }
  for (const int mode : {-1, 3, 0x7fffffff}) {
    EXPECT_EQ(bwgemmSetTuneMode(handle(), static_cast<bwgemmTuneMode_t>(mode)),
              BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "mode")) << bwgemmGetLastErrorString();
    EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr(std::to_string(mode)));
  }
  for (const int count : {-1, std::numeric_limits<int>::min()}) {
    EXPECT_EQ(bwgemmSetSmCountTarget(handle(), count), BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "smCount")) << bwgemmGetLastErrorString();
  }
  for (const int enable : {-2, 2}) {
    EXPECT_EQ(bwgemmSetProgrammaticLaunch(handle(), enable), BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "enable")) << bwgemmGetLastErrorString();
  }
  bwgemmPointerMode_t pointer_mode{};
  bwgemmDeterminism_t determinism{};
  bwgemmTuneMode_t tune_mode = BWGEMM_TUNE_ON;
  int target = -1, enable = 7;
  EXPECT_EQ(bwgemmGetPointerMode(handle(), &pointer_mode), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmGetDeterminism(handle(), &determinism), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmGetSmCountTarget(handle(), &target), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmGetProgrammaticLaunch(handle(), &enable), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmGetTuneMode(handle(), &tune_mode), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(tune_mode, BWGEMM_TUNE_OFF);
  EXPECT_EQ(pointer_mode, BWGEMM_POINTER_MODE_HOST);
  EXPECT_EQ(determinism, BWGEMM_DETERMINISM_BITWISE);
  EXPECT_EQ(target, 0);
  EXPECT_EQ(enable, -1);
}

TEST_F(BadSettings, LegalOnesAreStored) {
  bwgemmPointerMode_t mode{};
  int value = -1;
  EXPECT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmGetPointerMode(handle(), &mode), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(mode, BWGEMM_POINTER_MODE_DEVICE);
  EXPECT_EQ(bwgemmSetSmCountTarget(handle(), 1000), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(bwgemmGetSmCountTarget(handle(), &value), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(value, 1000);
  for (const int enable : {1, 0, -1}) {
    EXPECT_EQ(bwgemmSetProgrammaticLaunch(handle(), enable), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(bwgemmGetProgrammaticLaunch(handle(), &value), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(value, enable);
  }
  for (const bwgemmTuneMode_t set : {BWGEMM_TUNE_FROZEN, BWGEMM_TUNE_ON, BWGEMM_TUNE_OFF}) {
    bwgemmTuneMode_t tune_mode = BWGEMM_TUNE_FORCE_INT;
    EXPECT_EQ(bwgemmSetTuneMode(handle(), set), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(bwgemmGetTuneMode(handle(), &tune_mode), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(tune_mode, set);
  }
}

TEST_F(BadSettings, NullOutputs) {
  void* workspace = &workspace;
  std::size_t size = 4711;
  const std::pair<const char*, bwgemmStatus_t> results[] = {
      {"stream", bwgemmGetStream(handle(), nullptr)},
      {"mode", bwgemmGetPointerMode(handle(), nullptr)},
      {"smCount", bwgemmGetSmCountTarget(handle(), nullptr)},
      {"mode", bwgemmGetDeterminism(handle(), nullptr)},
      {"mode", bwgemmGetTuneMode(handle(), nullptr)},
      {"enable", bwgemmGetProgrammaticLaunch(handle(), nullptr)},
      {"workspace", bwgemmGetWorkspace(handle(), nullptr, &size)},
      {"size", bwgemmGetWorkspace(handle(), &workspace, nullptr)},
  };
  for (const auto& [name, status] : results) EXPECT_EQ(status, BWGEMM_STATUS_INVALID_VALUE) << name;
  EXPECT_EQ(size, 4711u) << "written although the call failed";
  EXPECT_EQ(workspace, &workspace) << "written although the call failed";
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "size")) << bwgemmGetLastErrorString();
  GemmArguments gemm;
  EXPECT_EQ(workspace_size(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "size")) << bwgemmGetLastErrorString();
}

TEST_F(BadSettings, Workspace) {
  CUdeviceptr memory = 0;
  check(driver().mem_alloc(&memory, 4096), "cuMemAlloc");
  void* aligned = reinterpret_cast<void*>(memory);
  EXPECT_EQ(bwgemmSetWorkspace(handle(), aligned, 4096), BWGEMM_STATUS_SUCCESS);
  for (const std::uintptr_t offset : {1, 16, 128}) {
    EXPECT_EQ(bwgemmSetWorkspace(handle(), static_cast<char*>(aligned) + offset, 1024),
              BWGEMM_STATUS_INVALID_VALUE);
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "workspace")) << bwgemmGetLastErrorString();
  }
  void* stored = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(bwgemmGetWorkspace(handle(), &stored, &size), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(stored, aligned) << "refused ones must not be stored";
  EXPECT_EQ(size, 4096u);
  EXPECT_EQ(bwgemmSetWorkspace(handle(), nullptr, 0), BWGEMM_STATUS_SUCCESS);
  check(driver().mem_free(memory), "cuMemFree");
}

// A new handle's is the library's, and what Get answers can be given to Set.
TEST_F(BadSettings, WorkspaceOfTheLibrary) {
  void* stored = &stored;
  std::size_t size = 0;
  EXPECT_EQ(bwgemmGetWorkspace(handle(), &stored, &size), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(stored, nullptr);
  EXPECT_EQ(size, std::size_t{32} << 20);
  for (const std::size_t set : {std::size_t{0}, std::size_t{1}, size, SIZE_MAX}) {
    EXPECT_EQ(bwgemmSetWorkspace(handle(), nullptr, set), BWGEMM_STATUS_SUCCESS)
        << bwgemmGetLastErrorString();
    std::size_t now = ~set;
    EXPECT_EQ(bwgemmGetWorkspace(handle(), &stored, &now), BWGEMM_STATUS_SUCCESS);
    EXPECT_EQ(stored, nullptr);
    EXPECT_EQ(now, set);
  }
}

TEST_F(BadSettings, AStreamOfAnotherContext) {
  CUcontext other = nullptr;
  CUstream foreign = nullptr;
  check(driver().ctx_create_v2(&other, 0, 0), "cuCtxCreate");
  check(driver().stream_create(&foreign, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  EXPECT_EQ(bwgemmSetStream(handle(), foreign), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "stream")) << bwgemmGetLastErrorString();
  EXPECT_EQ(current(), other) << "the caller's context was not restored";
  CUstream stored = foreign;
  EXPECT_EQ(bwgemmGetStream(handle(), &stored), BWGEMM_STATUS_SUCCESS);
  EXPECT_EQ(stored, nullptr);
  check(driver().stream_destroy(foreign), "cuStreamDestroy");
  check(driver().ctx_destroy(other), "cuCtxDestroy");
}

// Only what the driver says of the stream is held against the stream.
TEST_F(BadSettings, AStreamIsNotBlamedForOtherFailures) {
  const Stream stream;
  for (const auto& [result, status] :
       {std::pair{CUDA_ERROR_INVALID_HANDLE, BWGEMM_STATUS_INVALID_VALUE},
        std::pair{CUDA_ERROR_CONTEXT_IS_DESTROYED, BWGEMM_STATUS_INVALID_VALUE},
        std::pair{CUDA_ERROR_ILLEGAL_ADDRESS, BWGEMM_STATUS_EXECUTION_FAILED},
        std::pair{CUDA_ERROR_UNKNOWN, BWGEMM_STATUS_INTERNAL_ERROR}}) {
    fake_cuda().fail_entry("cuStreamGetCtx", result);
    EXPECT_EQ(bwgemmSetStream(handle(), stream.get()), status) << bwgemmGetLastErrorString();
    EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "cuStreamGetCtx"));
    fake_cuda().reset();
  }
}

}  // namespace
}  // namespace bwgemm::test
