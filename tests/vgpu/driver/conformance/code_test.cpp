// SPDX-License-Identifier: Apache-2.0
// Code: modules and libraries, functions and their attributes, occupancy, launches.
#include <cstring>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

constexpr int opt_in = 227 << 10;

class Code : public KernelTest {
 protected:
  static int attribute(CUfunction of, CUfunction_attribute which) {
    int value = -77;
    EXPECT_OK(CU(cuFuncGetAttribute)(&value, which, of));
    return value;
  }
};

TEST_F(Code, Modules) {
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  EXPECT_RESULT(CUDA_ERROR_INVALID_IMAGE, CU(cuModuleLoadData)(&module, "nonsense"));
  EXPECT_INVALID_VALUE(CU(cuModuleLoadData)(&module, nullptr));
  EXPECT_INVALID_VALUE(CU(cuModuleLoadData)(nullptr, kernels_ptx));
  EXPECT_RESULT(CUDA_ERROR_INVALID_PTX,
                CU(cuModuleLoadData)(&module, ".version 8.6\n.target sm_120a\n.address_size 64\n"))
      << "for another architecture";
  EXPECT_RESULT(CUDA_ERROR_NOT_FOUND, CU(cuModuleGetFunction)(&found, module_, "nothing"));
  EXPECT_INVALID_VALUE(CU(cuModuleGetFunction)(&found, module_, nullptr));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuModuleGetFunction)(&found, nullptr, "write"));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuModuleUnload)(nullptr));
}

TEST_F(Code, Libraries) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction first = nullptr, second = nullptr;
  EXPECT_INVALID_VALUE(
      CU(cuLibraryLoadData)(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(CU(cuLibraryLoadData)(&library, kernels_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  EXPECT_RESULT(CUDA_ERROR_NOT_FOUND, CU(cuLibraryGetKernel)(&kernel, library, "nothing"));
  ASSERT_OK(CU(cuLibraryGetKernel)(&kernel, library, "write"));
  EXPECT_OK(CU(cuKernelGetFunction)(&first, kernel));
  EXPECT_OK(CU(cuKernelGetFunction)(&second, kernel));
  EXPECT_EQ(first, second);
  unsigned count = 0;
  EXPECT_OK(CU(cuLibraryGetKernelCount)(&count, library));
  EXPECT_EQ(count, 5u);
  const char* name = nullptr;
  EXPECT_OK(CU(cuKernelGetName)(&name, kernel));
  EXPECT_STREQ(name, "write");
  std::size_t offset = 0, size = 0;
  EXPECT_OK(CU(cuKernelGetParamInfo)(kernel, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_INVALID_VALUE(CU(cuKernelGetParamInfo)(kernel, 2, &offset, &size));

  const CUdeviceptr out = ints(32, 0);
  int value = 7;
  void* arguments[] = {const_cast<CUdeviceptr*>(&out), &value};
  EXPECT_OK(CU(cuLaunchKernel)(first, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  EXPECT_EQ(read(out, 32), std::vector<unsigned>(32, 7));
  EXPECT_OK(CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 16, 1, 1, 0, nullptr,
                               arguments, nullptr))
      << "a kernel serves as a function";
  EXPECT_OK(CU(cuCtxSynchronize)());
  EXPECT_OK(CU(cuLibraryUnload)(library));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuLibraryUnload)(nullptr));
}

TEST_F(Code, FunctionAttributes) {
  const CUfunction bounded = function("bounded"), fixed = function("fixed"),
                   clustered = function("clustered");
  EXPECT_EQ(attribute(bounded, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
  EXPECT_EQ(attribute(fixed, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(attribute(fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 1024);
  EXPECT_EQ(attribute(fixed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), (48 << 10) - 1024);
  EXPECT_EQ(attribute(bounded, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
  EXPECT_EQ(attribute(clustered, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
  EXPECT_EQ(attribute(clustered, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(attribute(bounded, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
  EXPECT_GE(attribute(bounded, CU_FUNC_ATTRIBUTE_NUM_REGS), 4);

  const auto set = CU(cuFuncSetAttribute);
  constexpr auto dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_OK(set(bounded, dynamic, opt_in));
  EXPECT_EQ(attribute(bounded, dynamic), opt_in);
  EXPECT_INVALID_VALUE(set(bounded, dynamic, opt_in + 1));
  EXPECT_INVALID_VALUE(set(bounded, dynamic, -1));
  EXPECT_INVALID_VALUE(set(fixed, dynamic, opt_in));
  EXPECT_OK(set(fixed, dynamic, opt_in - 1024)) << "with its static 1024";
  EXPECT_INVALID_VALUE(set(bounded, CU_FUNC_ATTRIBUTE_NUM_REGS, 10));
  EXPECT_INVALID_VALUE(set(bounded, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
  EXPECT_INVALID_VALUE(set(bounded, static_cast<CUfunction_attribute>(99), 1));
}

TEST_F(Code, ResidentBlocks) {
  const CUfunction bounded = function("bounded");
  const auto blocks = [&](int threads, std::size_t shared) {
    int count = -1;
    EXPECT_OK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&count, bounded, threads, shared));
    return count;
  };
  EXPECT_OK(
      CU(cuFuncSetAttribute)(bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, opt_in));
  EXPECT_EQ(blocks(32, 0), 32);
  EXPECT_EQ(blocks(128, 0), 16);
  EXPECT_EQ(blocks(129, 0), 12) << "whole warps";
  EXPECT_EQ(blocks(128, 48 << 10), 4);
  EXPECT_EQ(blocks(128, 113 << 10), 2) << "each block reserves 1 KiB";
  EXPECT_EQ(blocks(128, 114 << 10), 1);
  EXPECT_EQ(blocks(128, opt_in), 1);
  EXPECT_EQ(blocks(128, 228 << 10), 0);
  EXPECT_EQ(blocks(1025, 0), 0);
  int count = 0;
  EXPECT_INVALID_VALUE(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&count, bounded, 0, 0));
  EXPECT_INVALID_VALUE(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(nullptr, bounded, 32, 0));
}

class Launches : public Code {
 protected:
  struct Shape {
    unsigned grid_x = 1, threads = 32, shared = 0, cluster = 0;
    unsigned grid_y = 1, threads_z = 1;
  };

  CUresult launch(const char* name, const Shape& shape) {
    return with_config(shape, [&](const CUlaunchConfig& config) {
      int value = 3;
      void* arguments[] = {&out_, &value};
      const CUresult result = CU(cuLaunchKernelEx)(&config, function(name), arguments, nullptr);
      EXPECT_OK(CU(cuCtxSynchronize)());
      return result;
    });
  }
  CUresult clusters(int* count, const char* name, const Shape& shape) {
    return with_config(shape, [&](const CUlaunchConfig& config) {
      return CU(cuOccupancyMaxActiveClusters)(count, function(name), &config);
    });
  }
  void SetUp() override {
    Code::SetUp();
    if (!IsSkipped()) out_ = ints(4096, 0);
  }

  CUdeviceptr out_ = 0;

 private:
  template <class Body>
  CUresult with_config(const Shape& shape, const Body& body) {
    CUlaunchConfig config{};
    config.gridDimX = shape.grid_x, config.gridDimY = shape.grid_y, config.gridDimZ = 1;
    config.blockDimX = shape.threads, config.blockDimY = 1, config.blockDimZ = shape.threads_z;
    config.sharedMemBytes = shape.shared;
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {shape.cluster, 1, 1};
    if (shape.cluster != 0) config.attrs = &cluster, config.numAttrs = 1;
    return body(config);
  }
};

TEST_F(Launches, ShapesAreChecked) {
  EXPECT_OK(launch("write", {}));
  EXPECT_INVALID_VALUE(launch("write", {.grid_x = 0}));
  EXPECT_INVALID_VALUE(launch("write", {.threads = 0}));
  EXPECT_INVALID_VALUE(launch("write", {.grid_y = 65536}));
  EXPECT_INVALID_VALUE(launch("write", {.threads = 1025}));
  EXPECT_INVALID_VALUE(launch("write", {.threads = 1, .threads_z = 65}));
  EXPECT_INVALID_VALUE(launch("bounded", {.threads = 129, .shared = 1024}));
  EXPECT_OK(launch("bounded", {.threads = 128, .shared = 48 << 10}));
  EXPECT_INVALID_VALUE(launch("bounded", {.threads = 128, .shared = (48 << 10) + 1}));
  EXPECT_OK(launch("fixed", {.shared = (48 << 10) - 1024}));
  EXPECT_INVALID_VALUE(launch("fixed", {.shared = 48 << 10}));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE,
                CU(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_INVALID_VALUE(CU(cuLaunchKernelEx)(nullptr, function("write"), nullptr, nullptr));
}

TEST_F(Launches, ClustersAreChecked) {
  EXPECT_OK(launch("write", {.grid_x = 4, .cluster = 2}));
  EXPECT_OK(launch("write", {.grid_x = 8, .cluster = 8}));
  EXPECT_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch("write", {.grid_x = 3, .cluster = 2}));
  EXPECT_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch("write", {.grid_x = 16, .cluster = 16}));
  EXPECT_OK(launch("clustered", {.grid_x = 2})) << "as compiled";
  EXPECT_OK(launch("clustered", {.grid_x = 4, .cluster = 2}));
  EXPECT_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch("clustered", {.grid_x = 3}));
  EXPECT_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch("clustered", {.grid_x = 4, .cluster = 4}));
  EXPECT_OK(CU(cuFuncSetAttribute)(function("write"),
                                   CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  EXPECT_OK(launch("write", {.grid_x = 16, .cluster = 16}));
}

TEST_F(Launches, ResidentClusters) {
  int sms = 0, count = -1;
  EXPECT_OK(CU(cuDeviceGetAttribute)(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_OK(CU(cuFuncSetAttribute)(function("bounded"),
                                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, opt_in));
  const unsigned all = opt_in;
  EXPECT_OK(clusters(&count, "bounded", {.threads = 128, .shared = all, .cluster = 1}));
  EXPECT_EQ(count, sms);
  int previous = sms + 1;
  for (const unsigned size : {2u, 4u, 8u}) {
    EXPECT_OK(clusters(&count, "bounded",
                       {.grid_x = size, .threads = 128, .shared = all, .cluster = size}));
    EXPECT_GT(count, 0);
    EXPECT_LE(count * static_cast<int>(size), sms);
    EXPECT_LT(count, previous);
    previous = count;
  }
  EXPECT_OK(clusters(&count, "bounded", {.threads = 128, .shared = all}));
  EXPECT_EQ(count, 0) << "no clusters asked for";
  EXPECT_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                clusters(&count, "bounded", {.grid_x = 3, .threads = 128, .cluster = 2}));
  EXPECT_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                clusters(&count, "bounded", {.grid_x = 16, .threads = 128, .cluster = 16}));
  EXPECT_INVALID_VALUE(CU(cuOccupancyMaxActiveClusters)(&count, function("bounded"), nullptr));
}

TEST_F(Launches, ArgumentsAndAttributes) {
  int value = 5;
  void* arguments[] = {&out_, &value};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32, config.blockDimY = config.blockDimZ = 1;
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[0].value.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].value.priority = -1;
  config.attrs = attributes, config.numAttrs = 2;
  EXPECT_OK(CU(cuLaunchKernelEx)(&config, function("write"), arguments, nullptr));
  value = 6;  // copied by the call
  EXPECT_EQ(read(out_, 32), std::vector<unsigned>(32, 5));
  attributes[1].id = static_cast<CUlaunchAttributeID>(99);
  EXPECT_INVALID_VALUE(CU(cuLaunchKernelEx)(&config, function("write"), arguments, nullptr));
  config.attrs = nullptr;
  EXPECT_INVALID_VALUE(CU(cuLaunchKernelEx)(&config, function("write"), arguments, nullptr));

  struct {
    CUdeviceptr out;
    int value;
  } buffer{out_, 9};
  std::size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  const CUfunction write = function("write");
  EXPECT_OK(CU(cuLaunchKernel)(write, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(read(out_, 32), std::vector<unsigned>(32, 9));
  EXPECT_INVALID_VALUE(CU(cuLaunchKernel)(write, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, extra));
}

TEST_F(Launches, SharedMemoryAndBarriersWork) {
  const CUdeviceptr values = memory(128 * 4);
  std::vector<unsigned> before(128), swapped(128);
  for (unsigned i = 0; i < 128; ++i) before[i] = i, swapped[i] = i ^ 1;
  for (const char* name : {"bounded", "fixed"}) {
    EXPECT_OK(CU(cuMemcpyHtoD)(values, before.data(), 512));
    void* arguments[] = {const_cast<CUdeviceptr*>(&values)};
    EXPECT_OK(
        CU(cuLaunchKernel)(function(name), 1, 1, 1, 128, 1, 1, 512, nullptr, arguments, nullptr));
    EXPECT_EQ(read(values, 128), swapped) << name;
  }
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
