// SPDX-License-Identifier: Apache-2.0
// What the conformance tests share. They hold for any driver of CUDA 12.8 or newer, virtual or
// real: BWGEMM_LIBCUDA names it, else libcuda.so.1 is opened; without one they are skipped.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace bwgemm::vgpu::driver::test {

void* driver_library();  // null: there is none

template <class Function>
Function* entry(const char* symbol) {
  void* found = dlsym(driver_library(), symbol);
  if (found == nullptr) throw std::runtime_error(std::string("the driver lacks ") + symbol);
  return reinterpret_cast<Function*>(found);
}

// The entry point of a name as <cuda.h> has it, suffix and all.
#define CU_SYMBOL(name) #name
#define CU(name) (::bwgemm::vgpu::driver::test::entry<decltype(::name)>(CU_SYMBOL(name)))

// The form with an explicit device alone, which <cuda.h> of CUDA 13 no longer declares.
using CreateContext = CUresult(CUcontext*, unsigned, CUdevice);

inline const char* name_of(CUresult result) {
  const char* name = nullptr;
  CU(cuGetErrorName)(result, &name);
  return name != nullptr ? name : "an unknown error";
}

// Results are compared by name, so that failures say what happened.
#define EXPECT_RESULT(expected, call)                           \
  EXPECT_STREQ(::bwgemm::vgpu::driver::test::name_of(expected), \
               ::bwgemm::vgpu::driver::test::name_of(call))
#define EXPECT_OK(call) EXPECT_RESULT(CUDA_SUCCESS, call)
#define EXPECT_INVALID_VALUE(call) EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, call)
#define ASSERT_OK(call) ASSERT_STREQ("CUDA_SUCCESS", ::bwgemm::vgpu::driver::test::name_of(call))

// Device 0's primary context is current during each test.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUcontext primary() const { return primary_; }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event(unsigned flags = CU_EVENT_DEFAULT);
  CUdeviceptr memory(std::size_t bytes);
  // `count` ints of device memory, all of one value, and ready.
  CUdeviceptr ints(std::size_t count, unsigned value);
  // The context's objects went away with it.
  virtual void forget();
  // Waits for the device.
  std::vector<unsigned> read(CUdeviceptr address, std::size_t count);

 private:
  CUcontext primary_ = nullptr;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUdeviceptr> memory_;
};

// The kernels of kernels_ptx, loaded; each works on one int per thread.
class KernelTest : public DriverTest {
 protected:
  void SetUp() override;
  void TearDown() override;
  void forget() override;

  CUfunction function(const char* name) const;
  // to[i] += from[i] + n, for i below 32.
  CUresult add(CUdeviceptr to, CUdeviceptr from, int n, CUstream stream) const;

  CUmodule module_ = nullptr;
};

// PTX that every device since compute capability 9.0 runs.
//   write(int* p, int v)                    p[i] = v
//   add(int* to, const int* from, int n)    to[i] += from[i] + n
//   clustered(int* p)                       nothing, in clusters of two
//   bounded(int* p)                         swaps neighbours in dynamic shared memory, 128 threads
//   fixed(int* p)                           the same in 1 KiB of static shared memory
extern const char kernels_ptx[];

}  // namespace bwgemm::vgpu::driver::test
