// SPDX-License-Identifier: Apache-2.0
// Initialization, errors, entry points by name, devices.
#include <cstring>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

struct Found {
  CUresult result;
  void* function;
  CUdriverProcAddressQueryResult status;
};

Found find(const char* name, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
  Found found{};
  found.result = CU(cuGetProcAddress)(name, &found.function, version, flags, &found.status);
  return found;
}

using Devices = DriverTest;

TEST_F(Devices, EntryPointsComeByNameAndVersion) {
  int version = 0;
  ASSERT_OK(CU(cuDriverGetVersion)(&version));
  EXPECT_GE(version, 12080);
  EXPECT_INVALID_VALUE(CU(cuDriverGetVersion)(nullptr));

  const Found newest = find("cuMemAlloc", 12000);
  EXPECT_OK(newest.result);
  EXPECT_EQ(newest.status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_NE(newest.function, nullptr);
  for (const char* unknown : {"cuMemAlloc_v2", "cuNoSuchFunction", ""}) {
    const Found found = find(unknown, 12000);
    EXPECT_OK(found.result);
    EXPECT_EQ(found.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << unknown;
    EXPECT_EQ(found.function, nullptr);
  }
  const Found too_new = find("cuLibraryLoadData", 11000);
  EXPECT_EQ(too_new.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(too_new.function, nullptr);
  EXPECT_INVALID_VALUE(find("cuInit", 99000).result);

  EXPECT_NE(find("cuCtxCreate", 11040).function, find("cuCtxCreate", 12050).function);
  EXPECT_NE(find("cuLaunchKernel", 12000).function,
            find("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function);
}

TEST_F(Devices, ErrorsHaveNames) {
  const char* text = nullptr;
  ASSERT_OK(CU(cuGetErrorName)(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
  ASSERT_OK(CU(cuGetErrorString)(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ(text, "invalid argument");
  EXPECT_INVALID_VALUE(CU(cuGetErrorName)(static_cast<CUresult>(12345), &text));
  EXPECT_EQ(text, nullptr);
}

TEST_F(Devices, Ordinals) {
  int count = 0;
  ASSERT_OK(CU(cuDeviceGetCount)(&count));
  ASSERT_GE(count, 1);
  CUdevice device = -1;
  EXPECT_OK(CU(cuDeviceGet)(&device, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE, CU(cuDeviceGet)(&device, count));
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE, CU(cuDeviceGet)(&device, -1));
  EXPECT_INVALID_VALUE(CU(cuDeviceGet)(nullptr, 0));
  EXPECT_INVALID_VALUE(CU(cuInit)(1));
}

TEST_F(Devices, NamesAreCutToTheirRoom) {
  char whole[100], cut[4];
  ASSERT_OK(CU(cuDeviceGetName)(whole, sizeof whole, 0));
  ASSERT_OK(CU(cuDeviceGetName)(cut, sizeof cut, 0));
  EXPECT_EQ(std::strlen(cut), 3u);
  EXPECT_EQ(std::strncmp(whole, cut, 3), 0);
  EXPECT_INVALID_VALUE(CU(cuDeviceGetName)(nullptr, 4, 0));
}

TEST_F(Devices, Attributes) {
  const auto attribute = [](CUdevice_attribute which) {
    int value = 0;
    EXPECT_OK(CU(cuDeviceGetAttribute)(&value, which, 0));
    return value;
  };
  EXPECT_GE(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 48 << 10);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 227 << 10);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), 228 << 10);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
  EXPECT_GT(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), 32 << 20);
  int value = 0;
  EXPECT_INVALID_VALUE(CU(cuDeviceGetAttribute)(&value, static_cast<CUdevice_attribute>(0), 0));
  EXPECT_INVALID_VALUE(CU(cuDeviceGetAttribute)(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE,
                CU(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
