// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <vector>

#include "bind.h"
#include "core/device_facts.h"

namespace bwgemm::bench {

namespace {

// Symbols carry the version suffix that <cuda.h> adds by macro.
DriverApi open_driver() {
  const char* chosen = std::getenv("BWGEMM_LIBCUDA");
  void* library = dlopen(chosen != nullptr ? chosen : "libcuda.so.1", RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  DriverApi api{};
  bind(library, "cuInit", api.cuInit);
  bind(library, "cuGetErrorString", api.cuGetErrorString);
  bind(library, "cuDeviceGet", api.cuDeviceGet);
  bind(library, "cuDeviceGetName", api.cuDeviceGetName);
  bind(library, "cuDeviceGetAttribute", api.cuDeviceGetAttribute);
  bind(library, "cuDevicePrimaryCtxRetain", api.cuDevicePrimaryCtxRetain);
  bind(library, "cuCtxSetCurrent", api.cuCtxSetCurrent);
  bind(library, "cuMemAlloc_v2", api.cuMemAlloc);
  bind(library, "cuMemFree_v2", api.cuMemFree);
  bind(library, "cuMemGetInfo_v2", api.cuMemGetInfo);
  bind(library, "cuMemcpyHtoD_v2", api.cuMemcpyHtoD);
  bind(library, "cuMemcpyDtoH_v2", api.cuMemcpyDtoH);
  bind(library, "cuMemcpyDtoD_v2", api.cuMemcpyDtoD);
  bind(library, "cuMemcpyDtoDAsync_v2", api.cuMemcpyDtoDAsync);
  bind(library, "cuMemsetD8_v2", api.cuMemsetD8);
  bind(library, "cuStreamCreate", api.cuStreamCreate);
  bind(library, "cuStreamSynchronize", api.cuStreamSynchronize);
  bind(library, "cuStreamBeginCapture_v2", api.cuStreamBeginCapture);
  bind(library, "cuStreamEndCapture", api.cuStreamEndCapture);
  bind(library, "cuGraphInstantiateWithFlags", api.cuGraphInstantiateWithFlags);
  bind(library, "cuGraphLaunch", api.cuGraphLaunch);
  bind(library, "cuGraphExecDestroy", api.cuGraphExecDestroy);
  bind(library, "cuGraphDestroy", api.cuGraphDestroy);
  bind(library, "cuEventCreate", api.cuEventCreate);
  bind(library, "cuEventRecord", api.cuEventRecord);
  bind(library, "cuEventSynchronize", api.cuEventSynchronize);
  bind(library, "cuEventElapsedTime_v2", api.cuEventElapsedTime);
  bind(library, "cuFuncSetAttribute", api.cuFuncSetAttribute);
  bind(library, "cuLaunchKernelEx", api.cuLaunchKernelEx);
  bind(library, "cuTensorMapEncodeTiled", api.cuTensorMapEncodeTiled);
  bind_if_there(library, "cuModuleLoadData", api.cuModuleLoadData);
  bind_if_there(library, "cuModuleUnload", api.cuModuleUnload);
  bind_if_there(library, "cuModuleGetFunction", api.cuModuleGetFunction);
  bind_if_there(library, "cuGraphGetNodes", api.cuGraphGetNodes);
  bind_if_there(library, "cuGraphNodeGetType", api.cuGraphNodeGetType);
  bind_if_there(library, "cuGraphKernelNodeGetParams_v2", api.cuGraphKernelNodeGetParams);
  bind_if_there(library, "cuGraphKernelNodeGetAttribute", api.cuGraphKernelNodeGetAttribute);
  bind_if_there(library, "cuFuncGetName", api.cuFuncGetName);
  return api;
}

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

// As NVML takes it.
std::string pci_address_of(CUdevice device) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%08x:%02x:%02x.0",
                static_cast<unsigned>(attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)),
                static_cast<unsigned>(attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)),
                static_cast<unsigned>(attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)));
  return text.data();
}

}  // namespace

const DriverApi& driver() {
  static const DriverApi api = open_driver();
  return api;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  throw std::runtime_error(std::string(call) + ": " + (text != nullptr ? text : "unknown error"));
}

Gpu::Gpu() {
  const DriverApi& api = driver();
  check(api.cuInit(0), "cuInit");
  CUdevice device = 0;
  check(api.cuDeviceGet(&device, 0), "cuDeviceGet");
  std::array<char, 128> name{};
  check(api.cuDeviceGetName(name.data(), name.size(), device), "cuDeviceGetName");
  name_ = name.data();
  pci_address_ = pci_address_of(device);
  l2_bytes_ = static_cast<std::size_t>(attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  sm_count_ = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  memory_bytes_per_us_ =
      peak_memory_bytes_per_us(attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
                               attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  compute_capability_major_ = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  CUcontext context = nullptr;
  check(api.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(api.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(api.cuEventCreate(&begin_, CU_EVENT_DEFAULT), "cuEventCreate");
  check(api.cuEventCreate(&end_, CU_EVENT_DEFAULT), "cuEventCreate");
}

std::size_t Gpu::free_bytes() const {
  std::size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  check(driver().cuMemAlloc(&address_, bytes > 0 ? bytes : 1), "cuMemAlloc");
}

DeviceBuffer::~DeviceBuffer() {
  driver().cuMemFree(address_);
}

void Graph::finish() {
  check(driver().cuStreamEndCapture(stream_, &graph_), "cuStreamEndCapture");
  check(driver().cuGraphInstantiateWithFlags(&executable_, graph_, 0),
        "cuGraphInstantiateWithFlags");
}

void Graph::abandon() const {
  CUgraph unfinished = nullptr;
  driver().cuStreamEndCapture(stream_, &unfinished);
  if (unfinished != nullptr) driver().cuGraphDestroy(unfinished);
}

std::vector<Graph::Kernel> Graph::kernels(const std::string& prefix) const {
  const DriverApi& api = driver();
  if (api.cuGraphGetNodes == nullptr || api.cuGraphNodeGetType == nullptr ||
      api.cuGraphKernelNodeGetParams == nullptr || api.cuFuncGetName == nullptr)
    return {};
  std::size_t count = 0;
  if (api.cuGraphGetNodes(graph_, nullptr, &count) != CUDA_SUCCESS) return {};
  std::vector<CUgraphNode> nodes(count);
  if (api.cuGraphGetNodes(graph_, nodes.data(), &count) != CUDA_SUCCESS) return {};
  std::vector<Kernel> found;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    CUDA_KERNEL_NODE_PARAMS params{};
    const char* name = nullptr;
    if (api.cuGraphNodeGetType(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_KERNEL &&
        api.cuGraphKernelNodeGetParams(node, &params) == CUDA_SUCCESS && params.func != nullptr &&
        api.cuFuncGetName(&name, params.func) == CUDA_SUCCESS && name != nullptr &&
        std::string(name).starts_with(prefix))
      found.push_back({node, params, name});
  }
  return found;
}

std::optional<Graph::Kernel> Graph::first_kernel(const std::string& prefix) const {
  for (const Kernel& kernel : kernels(prefix))
    if (!kernel.name.ends_with("_copy")) return kernel;
  return std::nullopt;
}

int Graph::launches(const std::string& prefix) const {
  return static_cast<int>(kernels(prefix).size());
}

std::string Graph::kernel(const std::string& prefix) const {
  const std::optional<Kernel> kernel = first_kernel(prefix);
  return kernel.has_value() ? kernel->name : "";
}

Graph::KernelLaunch Graph::kernel_launch(const std::string& prefix) const {
  const std::optional<Kernel> kernel = first_kernel(prefix);
  if (!kernel.has_value() || driver().cuGraphKernelNodeGetAttribute == nullptr)
    throw std::runtime_error("the driver does not tell what a graph launches");
  CUlaunchAttributeValue value{};
  check(driver().cuGraphKernelNodeGetAttribute(kernel->node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                               &value),
        "cuGraphKernelNodeGetAttribute");
  return {kernel->params, value.clusterDim.x > 0 ? value.clusterDim.x : 1, kernel->name};
}

Graph::~Graph() {
  if (executable_ != nullptr) driver().cuGraphExecDestroy(executable_);
  if (graph_ != nullptr) driver().cuGraphDestroy(graph_);
}

}  // namespace bwgemm::bench
