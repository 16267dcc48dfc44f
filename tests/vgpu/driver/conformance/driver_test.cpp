// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/conformance/driver_test.h"

#include <cstdlib>

namespace bwgemm::vgpu::driver::test {

void* driver_library() {
  static void* const library = [] {
    const char* chosen = std::getenv("BWGEMM_LIBCUDA");
    const bool is_chosen = chosen != nullptr && *chosen != '\0';
    return dlopen(is_chosen ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

void DriverTest::SetUp() {
  if (driver_library() == nullptr) GTEST_SKIP() << "no CUDA driver";
  if (CU(cuInit)(0) != CUDA_SUCCESS) GTEST_SKIP() << "the driver has no device";
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&primary_, 0));
  ASSERT_OK(CU(cuCtxSetCurrent)(primary_));
}

void DriverTest::TearDown() {
  if (primary_ == nullptr) return;
  EXPECT_OK(CU(cuCtxSetCurrent)(primary_));
  EXPECT_OK(CU(cuCtxSynchronize)()) << "the test left the context broken";
  for (const CUevent one : events_) EXPECT_OK(CU(cuEventDestroy)(one));
  for (const CUstream one : streams_) EXPECT_OK(CU(cuStreamDestroy)(one));
  for (const CUdeviceptr one : memory_) EXPECT_OK(CU(cuMemFree)(one));
  EXPECT_OK(CU(cuCtxSetCurrent)(nullptr));
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
}

CUstream DriverTest::stream(unsigned flags) {
  streams_.push_back(nullptr);
  EXPECT_OK(CU(cuStreamCreate)(&streams_.back(), flags));
  return streams_.back();
}

CUevent DriverTest::event(unsigned flags) {
  events_.push_back(nullptr);
  EXPECT_OK(CU(cuEventCreate)(&events_.back(), flags));
  return events_.back();
}

CUdeviceptr DriverTest::memory(std::size_t bytes) {
  memory_.push_back(0);
  EXPECT_OK(CU(cuMemAlloc)(&memory_.back(), bytes));
  return memory_.back();
}

CUdeviceptr DriverTest::ints(std::size_t count, unsigned value) {
  const CUdeviceptr address = memory(count * sizeof value);
  EXPECT_OK(CU(cuMemsetD32)(address, value, count));
  EXPECT_OK(CU(cuCtxSynchronize)());
  return address;
}

void DriverTest::forget() {
  streams_.clear(), events_.clear(), memory_.clear();
}

std::vector<unsigned> DriverTest::read(CUdeviceptr address, std::size_t count) {
  std::vector<unsigned> values(count);
  EXPECT_OK(CU(cuCtxSynchronize)());
  EXPECT_OK(CU(cuMemcpyDtoH)(values.data(), address, count * sizeof values[0]));
  return values;
}

void KernelTest::SetUp() {
  DriverTest::SetUp();
  if (IsSkipped()) return;
  ASSERT_OK(CU(cuModuleLoadData)(&module_, kernels_ptx));
}

void KernelTest::TearDown() {
  if (module_ != nullptr) {
    EXPECT_OK(CU(cuModuleUnload)(module_));
  }
  DriverTest::TearDown();
}

void KernelTest::forget() {
  DriverTest::forget();
  module_ = nullptr;
}

CUfunction KernelTest::function(const char* name) const {
  CUfunction found = nullptr;
  EXPECT_OK(CU(cuModuleGetFunction)(&found, module_, name)) << name;
  return found;
}

CUresult KernelTest::add(CUdeviceptr to, CUdeviceptr from, int n, CUstream stream) const {
  void* arguments[] = {&to, &from, &n};
  return CU(cuLaunchKernel)(function("add"), 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace bwgemm::vgpu::driver::test
