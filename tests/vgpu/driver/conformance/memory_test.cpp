// SPDX-License-Identifier: Apache-2.0
// Memory: allocation, what is known of addresses, copies and fills.
#include <cstring>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

constexpr CUdeviceptr nowhere = 0x1234;

using Memory = DriverTest;

TEST_F(Memory, Allocation) {
  CUdeviceptr address = 0;
  EXPECT_INVALID_VALUE(CU(cuMemAlloc)(&address, 0));
  EXPECT_INVALID_VALUE(CU(cuMemAlloc)(nullptr, 16));
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, CU(cuMemAlloc)(&address, std::size_t{1} << 50));
  ASSERT_OK(CU(cuMemAlloc)(&address, 1000));
  EXPECT_EQ(address % 256, 0u);
  EXPECT_INVALID_VALUE(CU(cuMemFree)(address + 8));
  EXPECT_INVALID_VALUE(CU(cuMemFree)(nowhere));
  EXPECT_OK(CU(cuMemFree)(0));
  EXPECT_OK(CU(cuMemFree)(address));
  EXPECT_INVALID_VALUE(CU(cuMemFree)(address)) << "freed before";
}

TEST_F(Memory, FreeBytesShrink) {
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_OK(CU(cuMemGetInfo)(&before, &total));
  EXPECT_LE(before, total);
  memory(std::size_t{64} << 20);
  ASSERT_OK(CU(cuMemGetInfo)(&after, &total));
  EXPECT_LE(after + (std::size_t{64} << 20), before);
}

TEST_F(Memory, WhatIsKnownOfAnAddress) {
  const CUdeviceptr address = memory(1000);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  EXPECT_OK(CU(cuMemGetAddressRange)(&base, &size, address + 10));
  EXPECT_EQ(base, address);
  EXPECT_EQ(size, 1000u);
  EXPECT_RESULT(CUDA_ERROR_NOT_FOUND, CU(cuMemGetAddressRange)(&base, &size, nowhere));

  unsigned type = 0;
  CUcontext context = nullptr;
  void* host = nullptr;
  EXPECT_OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_OK(CU(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  EXPECT_EQ(context, primary());
  EXPECT_OK(CU(cuPointerGetAttribute)(&base, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address + 5));
  EXPECT_EQ(base, address + 5);
  EXPECT_OK(CU(cuPointerGetAttribute)(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 5));
  EXPECT_EQ(base, address);
  EXPECT_INVALID_VALUE(
      CU(cuPointerGetAttribute)(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
  EXPECT_INVALID_VALUE(
      CU(cuPointerGetAttribute)(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));

  int pageable = 0;
  const auto of_host = reinterpret_cast<CUdeviceptr>(&pageable);
  EXPECT_INVALID_VALUE(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, of_host));
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_CONTEXT};
  void* values[] = {&type, &context};
  type = 77;
  EXPECT_OK(CU(cuPointerGetAttributes)(2, attributes, values, of_host)) << "knows nothing";
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(context, nullptr);
}

TEST_F(Memory, PinnedMemory) {
  void* host = nullptr;
  ASSERT_OK(CU(cuMemHostAlloc)(&host, 4096, 0));
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  CUdeviceptr on_device = 0;
  EXPECT_OK(CU(cuMemHostGetDevicePointer)(&on_device, host, 0));
  EXPECT_EQ(on_device, address);
  unsigned type = 0;
  EXPECT_OK(CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_OK(CU(cuMemFreeHost)(host));
  int pageable = 0;
  EXPECT_INVALID_VALUE(CU(cuMemFreeHost)(&pageable));
  EXPECT_OK(CU(cuMemFreeHost)(nullptr));
  EXPECT_INVALID_VALUE(CU(cuMemHostAlloc)(&host, 4096, 0x80));
}

TEST_F(Memory, ReservedAddressesAreNotMemory) {
  CUdeviceptr address = 0;
  constexpr std::size_t bytes = std::size_t{64} << 20;
  EXPECT_INVALID_VALUE(CU(cuMemAddressReserve)(&address, 1 << 20, 0, 0, 0)) << "the granule";
  ASSERT_OK(CU(cuMemAddressReserve)(&address, bytes, 0, 0, 0));
  EXPECT_INVALID_VALUE(CU(cuMemsetD8)(address, 0, 16));
  EXPECT_INVALID_VALUE(CU(cuMemAddressFree)(address, bytes / 2));
  EXPECT_OK(CU(cuMemAddressFree)(address, bytes));
}

TEST_F(Memory, CopiesAreChecked) {
  const CUdeviceptr device = memory(1000);
  std::vector<char> host(4096);
  EXPECT_OK(CU(cuMemcpyHtoD)(device, host.data(), 0));
  EXPECT_OK(CU(cuMemcpyHtoD)(device, host.data(), 1000));
  EXPECT_INVALID_VALUE(CU(cuMemcpyHtoD)(device, host.data(), 1001));
  EXPECT_INVALID_VALUE(CU(cuMemcpyHtoD)(device, nullptr, 16));
  EXPECT_INVALID_VALUE(CU(cuMemcpyHtoD)(0, host.data(), 16));
  EXPECT_INVALID_VALUE(CU(cuMemcpyHtoD)(nowhere, host.data(), 16));
  EXPECT_INVALID_VALUE(CU(cuMemcpyDtoH)(nullptr, device, 16));
  const auto pageable = reinterpret_cast<CUdeviceptr>(host.data());
  EXPECT_INVALID_VALUE(CU(cuMemcpyHtoD)(pageable, host.data() + 64, 16));
  EXPECT_INVALID_VALUE(CU(cuMemcpyDtoH)(host.data(), pageable + 64, 16));
}

TEST_F(Memory, FillsAreChecked) {
  const CUdeviceptr device = memory(1000);
  EXPECT_OK(CU(cuMemsetD32)(device, 1, 250));
  EXPECT_INVALID_VALUE(CU(cuMemsetD32)(device, 1, 251));
  EXPECT_INVALID_VALUE(CU(cuMemsetD32)(device + 2, 1, 4));
  EXPECT_INVALID_VALUE(CU(cuMemsetD16)(device + 1, 1, 4));
  EXPECT_INVALID_VALUE(CU(cuMemsetD8)(0, 1, 16));
  EXPECT_INVALID_VALUE(CU(cuMemsetD8)(nowhere, 1, 16));
  EXPECT_OK(CU(cuMemsetD32)(device, 1, 0));
}

TEST_F(Memory, FillsAndCopiesMoveTheirBytes) {
  const CUdeviceptr first = memory(64), second = memory(64);
  EXPECT_OK(CU(cuMemsetD32)(first, 0x01020304, 16));
  EXPECT_OK(CU(cuMemsetD16)(first + 4, 0xaabb, 2));
  EXPECT_OK(CU(cuMemsetD8)(first + 8, 0xcc, 3));
  EXPECT_OK(CU(cuMemcpyDtoD)(second, first, 64));
  const std::vector<unsigned> values = read(second, 16);
  EXPECT_EQ(values[0], 0x01020304u);
  EXPECT_EQ(values[1], 0xaabbaabbu);
  EXPECT_EQ(values[2], 0x01ccccccu);
  EXPECT_EQ(values[15], 0x01020304u);
}

TEST_F(Memory, RectanglesKeepTheirPitch) {
  const CUdeviceptr device = ints(64, 9);  // 8 rows of 8
  unsigned host[6] = {0, 1, 2, 3, 4, 5};   // 3 rows of 2
  CUDA_MEMCPY2D rectangle{};
  rectangle.srcMemoryType = CU_MEMORYTYPE_HOST;
  rectangle.srcHost = host;
  rectangle.srcPitch = 8;
  rectangle.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rectangle.dstDevice = device;
  rectangle.dstPitch = 32;
  rectangle.dstXInBytes = 4;
  rectangle.dstY = 2;
  rectangle.WidthInBytes = 8;
  rectangle.Height = 3;
  EXPECT_OK(CU(cuMemcpy2D)(&rectangle));
  const std::vector<unsigned> values = read(device, 64);
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      const bool is_inside = row >= 2 && row < 5 && column >= 1 && column < 3;
      EXPECT_EQ(values[8 * row + column], is_inside ? host[2 * (row - 2) + column - 1] : 9u)
          << row << " " << column;
    }
}

// What pageable memory holds when the call returns is what arrives, whatever becomes of it.
TEST_F(Memory, PageableSourcesAreReadBeforeTheCallReturns) {
  const CUdeviceptr device = memory(4096);
  const CUstream own = stream();
  std::vector<unsigned> host(1024, 5);
  EXPECT_OK(CU(cuMemcpyHtoDAsync)(device, host.data(), 4096, own));
  std::fill(host.begin(), host.end(), 6u);
  EXPECT_OK(CU(cuStreamSynchronize)(own));
  EXPECT_EQ(read(device, 1024), std::vector<unsigned>(1024, 5));
}

TEST_F(Memory, StreamOrderedAllocation) {
  const CUstream own = stream();
  CUdeviceptr device = 0;
  EXPECT_OK(CU(cuMemAllocAsync)(&device, 256, own));
  EXPECT_OK(CU(cuMemsetD32Async)(device, 3, 64, own));
  unsigned value = 0;
  EXPECT_OK(CU(cuMemcpyDtoHAsync)(&value, device, 4, own));
  EXPECT_OK(CU(cuMemFreeAsync)(device, own));
  EXPECT_OK(CU(cuStreamSynchronize)(own));
  EXPECT_EQ(value, 3u);
  EXPECT_OK(CU(cuMemFreeAsync)(0, own));
  EXPECT_INVALID_VALUE(CU(cuMemFreeAsync)(nowhere, own));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
