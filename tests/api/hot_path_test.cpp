// SPDX-License-Identifier: Apache-2.0
// After the first call of a shape class a call takes no heap, loads and allocates nothing in the
// driver and does not synchronize.
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <type_traits>

#include "api/heap.h"
#include "support/fake_gemm.h"
#include "support/matmul_call.h"
#include "support/sanitized.h"

namespace bwgemm::test {
namespace {

struct ShapeClass {
  const char* name;
  GemmArguments gemm;
  bool has_batch = false, has_device_scalars = false;
  int launches = 1;
};

std::vector<ShapeClass> shape_classes() {
  std::vector<ShapeClass> classes = {{"tma", {}},
                                     {"split", GemmArguments::split()},
                                     {"unaligned", GemmArguments::unaligned()},
                                     {"copied", GemmArguments::copied(), false, false, 2},
                                     {"batched", {}, true},
                                     {"batched copies", GemmArguments::copied(), true, false, 2},
                                     {"device scalars", {}, false, true}};
  GemmArguments other;
  other.transa = BWGEMM_OP_N, other.transb = BWGEMM_OP_T;
  other.c_type = BWGEMM_R_32F;
  other.beta = &GemmArguments::one;
  classes.push_back({"f32 with beta", other});
  other.alpha = &GemmArguments::zero;
  classes.push_back({"scale only", other});
  GemmArguments divided;  // a copy of B is larger than the workspace
  divided.m = divided.n = divided.lda = divided.ldc = 8192;
  divided.k = 8191, divided.ldb = 8193;
  classes.push_back({"divided", divided, false, false, 8});
  other.m = 0;
  classes.push_back({"empty", other, false, false, 0});
  return classes;
}

// What a warm call may ask of the driver.
bool is_allowed(std::string_view entry, bool pointers_are_new) {
  static const std::set<std::string_view> entries = {"cuCtxGetId",          "cuCtxGetCurrent",
                                                     "cuCtxPushCurrent",    "cuCtxPopCurrent",
                                                     "cuStreamIsCapturing", "cuLaunchKernelEx"};
  return entries.count(entry) > 0 || (pointers_are_new && entry == "cuTensorMapEncodeTiled");
}

class HotPath : public FakeHandleTest {
 protected:
  void SetUp() override {
    if (BWGEMM_TEST_SANITIZED) GTEST_SKIP() << "sanitizers bring a malloc of their own";
    FakeHandleTest::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) FakeHandleTest::TearDown();
  }

  bwgemmStatus_t call(const ShapeClass& shape) const {
    return shape.has_batch ? gemm_batched(handle(), shape.gemm) : gemm_ex(handle(), shape.gemm);
  }

  void set_scalars(ShapeClass& shape) const {
    ASSERT_EQ(bwgemmSetPointerMode(handle(), shape.has_device_scalars ? BWGEMM_POINTER_MODE_DEVICE
                                                                      : BWGEMM_POINTER_MODE_HOST),
              BWGEMM_STATUS_SUCCESS);
    if (!shape.has_device_scalars) return;
    shape.gemm.alpha = device_pointer(0x7f0030000000);
    shape.gemm.beta = device_pointer(0x7f0030000100);
  }

  void expect_warm_call(const ShapeClass& shape, bool pointers_are_new) const {
    expect_warm(shape.name, pointers_are_new, shape.launches, [&] { return call(shape); });
  }

  template <class Call>
  static void expect_warm(const char* name, bool pointers_are_new, int launches, const Call& call) {
    fake_cuda().reset();
    bwgemmStatus_t status = BWGEMM_STATUS_INTERNAL_ERROR;
    const long heap = heap_calls_of([&] { status = call(); });
    EXPECT_EQ(status, BWGEMM_STATUS_SUCCESS) << name;
    EXPECT_EQ(heap, 0) << name << ": calls of malloc, free and their relatives";
    for (long n = 1; n <= fake_cuda().calls(nullptr); ++n)
      EXPECT_TRUE(is_allowed(fake_cuda().call_name(n), pointers_are_new))
          << name << " calls " << fake_cuda().call_name(n);
    EXPECT_EQ(fake_cuda().launches(), launches) << name;
  }
};

TEST_F(HotPath, TheInterposerCounts) {
  bwgemmHandle_t other = nullptr;
  EXPECT_GT(heap_calls_of([&] { bwgemmCreate(&other); }), 0) << "the library's heap is not seen";
  EXPECT_EQ(bwgemmDestroy(other), BWGEMM_STATUS_SUCCESS);
}

TEST_F(HotPath, TheSameCallAgain) {
  for (ShapeClass& shape : shape_classes()) {
    set_scalars(shape);
    ASSERT_EQ(call(shape), BWGEMM_STATUS_SUCCESS) << shape.name << bwgemmGetLastErrorString();
    for (int i = 0; i < 3; ++i) expect_warm_call(shape, false);
  }
}

TEST_F(HotPath, OtherPointersOfTheSameShape) {
  for (ShapeClass& shape : shape_classes()) {
    set_scalars(shape);
    ASSERT_EQ(call(shape), BWGEMM_STATUS_SUCCESS) << shape.name;
    for (std::uintptr_t i = 1; i <= 2000; i = 3 * i + 1) {  // some beyond the capacity of caches
      shape.gemm.a = device_pointer(0x7f0100000000 + 4096 * i);
      shape.gemm.b = device_pointer(0x7f0200000000 + 4096 * i);
      shape.gemm.c = device_pointer(0x7f0300000000 + 4096 * i);
      expect_warm_call(shape, true);
    }
  }
}

TEST_F(HotPath, TwoShapesInTurn) {
  std::vector<ShapeClass> shapes = shape_classes();
  for (const ShapeClass& shape : shapes)
    if (!shape.has_device_scalars) {
      ASSERT_EQ(call(shape), BWGEMM_STATUS_SUCCESS);
    }
  for (int i = 0; i < 3; ++i)
    for (const ShapeClass& shape : shapes)
      if (!shape.has_device_scalars) expect_warm_call(shape, false);
}

struct NamedMatmul {
  const char* name;
  MatmulCall call;
  int launches = 1;
};

std::vector<NamedMatmul> matmuls() {
  MatmulCall apart, copied_apart = MatmulCall::copied(), divided, clamp;
  clamp.desc.activation = BWGEMM_ACTIVATION_CLAMP, clamp.desc.clampHigh = 6;
  apart.beta = copied_apart.beta = &MatmulCall::one;
  divided.desc.m = divided.desc.n = divided.desc.ldb = divided.desc.ldc = divided.desc.ldd = 8192;
  divided.desc.k = 8191, divided.desc.lda = 8193;
  return {{"plain", {}},
          {"C apart", apart},
          {"split", MatmulCall::split()},
          {"bias", MatmulCall::with_bias()},
          {"aux", MatmulCall::with_aux()},
          {"derivative", MatmulCall::with_aux(BWGEMM_AUX_DERIVATIVE)},
          {"gate", MatmulCall::gated()},
          {"clamp", clamp},
          {"arrays", MatmulCall::with_arrays()},
          {"copied", MatmulCall::copied(), 2},
          {"copied, C apart", copied_apart, 2},
          {"divided", divided, 8},
          {"bias gradient", MatmulCall::with_gradient(), 2}};
}

TEST_F(HotPath, Matmul) {
  for (NamedMatmul& shape : matmuls()) {
    MatmulCall& call = shape.call;
    const auto again = [&] { return matmul(handle(), call); };
    ASSERT_EQ(again(), BWGEMM_STATUS_SUCCESS) << shape.name << bwgemmGetLastErrorString();
    for (int i = 0; i < 3; ++i) expect_warm(shape.name, false, shape.launches, again);
    const auto move = [](auto*& pointer, std::uintptr_t base, std::uintptr_t i) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      if (pointer != nullptr) pointer = static_cast<Pointer>(device_pointer(base + 4096 * i));
    };
    for (std::uintptr_t i = 1; i <= 2000; i = 3 * i + 1) {
      move(call.a, 0x7f0100000000, i);
      move(call.b, 0x7f0200000000, i);
      move(call.c, 0x7f0300000000, i);
      move(call.d, 0x7f0400000000, i);
      move(call.desc.biasGradient, 0x7f0700000000, i);
      expect_warm(shape.name, true, shape.launches, again);
      move(call.desc.bias, 0x7f0500000000, i);
      move(call.desc.aux, 0x7f0600000000, i);
      expect_warm(shape.name, true, shape.launches, again);
    }
  }
}

TEST_F(HotPath, ATunedCall) {
  const ShapeClass shape{"tuned", {}};
  MatmulCall call;
  const bwgemmAutotuneOptions_t options{sizeof options, 3, 2, 0, 0};
  ASSERT_EQ(bwgemmMatmulAutotune(handle(), &call.desc, call.alpha, call.a, call.b, call.beta,
                                 nullptr, call.d, &options, nullptr),
            BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  ASSERT_EQ(this->call(shape), BWGEMM_STATUS_SUCCESS);
  for (int i = 0; i < 3; ++i) expect_warm_call(shape, false);
}

// Parts that are planned anew, because C moves, ask neither for what was tuned.
TEST_F(HotPath, DividedCallsBesideATunedOne) {
  MatmulCall tuned, divided;
  ASSERT_EQ(bwgemmMatmulAutotune(handle(), &tuned.desc, tuned.alpha, tuned.a, tuned.b, tuned.beta,
                                 nullptr, tuned.d, nullptr, nullptr),
            BWGEMM_STATUS_SUCCESS)
      << bwgemmGetLastErrorString();
  divided.desc.m = divided.desc.n = divided.desc.ldb = divided.desc.ldc = divided.desc.ldd = 8192;
  divided.desc.k = 8191, divided.desc.lda = 8193;
  divided.beta = &MatmulCall::one;
  const auto again = [&] { return matmul(handle(), divided); };
  ASSERT_EQ(again(), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  for (std::uintptr_t i = 1; i <= 3; ++i) {
    divided.c = made_up(0x7f0300000000 + 4096 * i);
    expect_warm("divided", true, 8, again);
  }
}

// Heap apart, which is the double's, for what it captures.
TEST_F(HotPath, InACaptureThatHasItsScratch) {
  const Stream stream;
  ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  ASSERT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  fake_cuda().reset();
  EXPECT_EQ(gemm_ex(handle(), GemmArguments::split()), BWGEMM_STATUS_SUCCESS);
  for (long n = 1; n <= fake_cuda().calls(nullptr); ++n) {
    const std::string_view entry = fake_cuda().call_name(n);
    EXPECT_TRUE(is_allowed(entry, false) || entry == "cuStreamGetCaptureInfo") << entry;
  }
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().stream_end_capture(stream.get(), &graph), CUDA_SUCCESS);
  if (graph != nullptr) driver().graph_destroy(graph);
}

TEST_F(HotPath, FromAThreadWithoutContext) {
  for (const ShapeClass& shape : {ShapeClass{"split", GemmArguments::split()},
                                  ShapeClass{"copied", GemmArguments::copied(), false, false, 2}}) {
    ASSERT_EQ(call(shape), BWGEMM_STATUS_SUCCESS);
    std::thread([&] { expect_warm_call(shape, false); }).join();
  }
}

TEST_F(HotPath, OnAnotherStreamOnceKnown) {
  const Stream stream;
  for (const ShapeClass& shape : {ShapeClass{"split", GemmArguments::split()},
                                  ShapeClass{"copied", GemmArguments::copied(), false, false, 2}}) {
    ASSERT_EQ(bwgemmSetStream(handle(), nullptr), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(call(shape), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(bwgemmSetStream(handle(), stream.get()), BWGEMM_STATUS_SUCCESS);
    ASSERT_EQ(call(shape), BWGEMM_STATUS_SUCCESS);
    for (const CUstream other : {CUstream{}, stream.get()}) {
      ASSERT_EQ(bwgemmSetStream(handle(), other), BWGEMM_STATUS_SUCCESS);
      expect_warm_call(shape, false);
    }
  }
}

}  // namespace
}  // namespace bwgemm::test
