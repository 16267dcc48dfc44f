// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/device.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <utility>

// kernels/code.S
extern "C" {
extern const char bwgemm_calibration_addresses[];
extern const char bwgemm_calibration_boxes[];
extern const char bwgemm_calibration_faults[];
extern const char bwgemm_calibration_fragments[];
extern const char bwgemm_calibration_operands[];
extern const char bwgemm_calibration_reserved[];
extern const char bwgemm_calibration_sums[];
extern const char bwgemm_calibration_transactions[];
}

namespace bwgemm::calibration {
namespace {

const void* image_of(const std::string& module) {
  static const std::map<std::string, const void*> images{
      {"addresses", bwgemm_calibration_addresses},
      {"boxes", bwgemm_calibration_boxes},
      {"faults", bwgemm_calibration_faults},
      {"fragments", bwgemm_calibration_fragments},
      {"operands", bwgemm_calibration_operands},
      {"reserved", bwgemm_calibration_reserved},
      {"sums", bwgemm_calibration_sums},
      {"transactions", bwgemm_calibration_transactions}};
  return images.at(module);
}

void* library() {
  static void* const opened = [] {
    const char* chosen = std::getenv("BWGEMM_LIBCUDA");
    const bool is_chosen = chosen != nullptr && *chosen != '\0';
    return dlopen(is_chosen ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }();
  if (opened == nullptr) throw std::runtime_error("no CUDA driver");
  return opened;
}

}  // namespace

void* driver_entry(const char* symbol) {
  void* found = dlsym(library(), symbol);
  if (found == nullptr) throw std::runtime_error(std::string("the driver lacks ") + symbol);
  return found;
}

std::string name_of(CUresult result) {
  const char* name = nullptr;
  CU(cuGetErrorName)(result, &name);
  return name != nullptr ? name : std::to_string(static_cast<int>(result));
}

void check(CUresult result) {
  if (result != CUDA_SUCCESS) throw DriverError(result);
}

Memory::Memory(std::size_t bytes, unsigned char fill) : size_(bytes) {
  check(CU(cuMemAlloc)(&address_, bytes));
  check(CU(cuMemsetD8)(address_, fill, bytes));
  check(CU(cuCtxSynchronize)());
}

Memory::Memory(Memory&& other) noexcept
    : address_(std::exchange(other.address_, 0)), size_(other.size_) {}

Memory::~Memory() {
  if (address_ != 0) CU(cuMemFree)(address_);
}

Device::Device() {
  check(CU(cuInit)(0));
  CUcontext context = nullptr;
  check(CU(cuDevicePrimaryCtxRetain)(&context, 0));
  check(CU(cuCtxSetCurrent)(context));
}

bool Device::is_virtual() {
  return dlsym(library(), "vgpu_finding_count") != nullptr;
}

CUfunction Device::function(const std::string& module, const char* name) {
  auto found = modules_.find(module);
  if (found == modules_.end()) {
    CUmodule loaded = nullptr;
    check(CU(cuModuleLoadData)(&loaded, image_of(module)));
    found = modules_.emplace(module, loaded).first;
  }
  CUfunction function = nullptr;
  check(CU(cuModuleGetFunction)(&function, found->second, name));
  return function;
}

CUresult Device::launch(CUfunction function, const Shape& shape, const void* const* arguments) {
  CUlaunchConfig config{};
  config.gridDimX = shape.grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = shape.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shape.shared_bytes;
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = shape.cluster;
  cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = shape.cluster > 0 ? 1 : 0;
  return CU(cuLaunchKernelEx)(&config, function, const_cast<void**>(arguments), nullptr);
}

void Device::run(CUfunction function, const Shape& shape,
                 std::initializer_list<const void*> arguments) {
  if (shape.shared_bytes > 48 * 1024)
    check(CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(shape.shared_bytes)));
  check(launch(function, shape, arguments.begin()));
  check(CU(cuCtxSynchronize)());
}

CUresult Tensor::encode(CUtensorMap* map) const {
  const cuuint64_t extents[] = {inner, outer, batch}, strides[] = {pitch, batch_pitch};
  const cuuint32_t box[] = {box_inner, box_outer, 1}, steps[] = {1, 1, 1};
  return CU(cuTensorMapEncodeTiled)(map, type, 3, reinterpret_cast<void*>(address), extents,
                                    strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                    CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
}

CUtensorMap Tensor::map() const {
  CUtensorMap aligned{};  // g++ 12 returns it to places that are aligned to less
  check(encode(&aligned));
  CUtensorMap map;
  std::memcpy(&map, &aligned, sizeof map);
  return map;
}

}  // namespace bwgemm::calibration
