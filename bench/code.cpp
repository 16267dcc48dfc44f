// SPDX-License-Identifier: Apache-2.0
#include "code.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

// kernels/code.S
extern "C" {
extern const char bwgemm_bench_tensor_sm_90a[];
extern const char bwgemm_bench_memory_sm_90a[];
extern const char bwgemm_bench_memory_sm_100f[];
extern const char bwgemm_bench_ladder_sm_100f[];
extern const char bwgemm_bench_elementwise_sm_90a[];
extern const char bwgemm_bench_elementwise_sm_100f[];
}

namespace bwgemm::bench {

Code::Code(const void* image) {
  check(driver().cuModuleLoadData(&module_, image), "cuModuleLoadData");
}

Code::Code(Code&& other) noexcept : module_(std::exchange(other.module_, nullptr)) {}

Code::~Code() {
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

Code Code::memory(const Gpu& gpu) {
  return Code(gpu.compute_capability_major() == 9 ? bwgemm_bench_memory_sm_90a
                                                  : bwgemm_bench_memory_sm_100f);
}

Code Code::tensor(const Gpu& gpu) {
  if (gpu.compute_capability_major() != 9)
    throw std::runtime_error("the ceiling of tensor cores is measured on Hopper only");
  return Code(bwgemm_bench_tensor_sm_90a);
}

Code Code::elementwise(const Gpu& gpu) {
  return Code(gpu.compute_capability_major() == 9 ? bwgemm_bench_elementwise_sm_90a
                                                  : bwgemm_bench_elementwise_sm_100f);
}

Code Code::ladder(const Gpu& gpu) {
  if (gpu.compute_capability_major() != 10)
    throw std::runtime_error("the ladder's kernels need sm_100");
  return Code(bwgemm_bench_ladder_sm_100f);
}

Code Code::from_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  return Code(image.data());
}

CUfunction Code::function(const char* name, int dynamic_shared_bytes) const {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_, name), "cuModuleGetFunction");
  if (dynamic_shared_bytes > 0)
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      dynamic_shared_bytes),
          "cuFuncSetAttribute");
  return function;
}

LaunchShape shape_of(const Graph::KernelLaunch& launch) {
  return {launch.params.gridDimX, launch.params.blockDimX,
          static_cast<int>(launch.params.sharedMemBytes), launch.cluster};
}

Launch::Launch(const Gpu& gpu, CUfunction function, const LaunchShape& shape)
    : function_(function) {
  config_.gridDimX = shape.grid;
  config_.gridDimY = config_.gridDimZ = 1;
  config_.blockDimX = shape.threads;
  config_.blockDimY = config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  config_.hStream = gpu.stream();
  if (shape.cluster == 1) return;
  constexpr unsigned portable = 8;
  if (shape.cluster > portable)
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                      1),
          "cuFuncSetAttribute");
  cluster_.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster_.value.clusterDim.x = shape.cluster;
  cluster_.value.clusterDim.y = cluster_.value.clusterDim.z = 1;
  config_.attrs = &cluster_;
  config_.numAttrs = 1;
}

void Launch::operator()(void** parameters) const {
  check(driver().cuLaunchKernelEx(&config_, function_, parameters, nullptr), "cuLaunchKernelEx");
}

void launch(const Gpu& gpu, CUfunction function, const LaunchShape& shape, void** parameters) {
  Launch(gpu, function, shape)(parameters);
}

}  // namespace bwgemm::bench
