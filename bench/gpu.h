// SPDX-License-Identifier: Apache-2.0
// The benchmark's view of the CUDA driver: opened at run time (BWGEMM_LIBCUDA or libcuda.so.1),
// every call checked, resources owned. Throws std::runtime_error.
#pragma once

#include <cstddef>
#include <cuda.h>
#include <optional>
#include <string>
#include <vector>

namespace bwgemm::bench {

// Entry points, named as the driver names them.
struct DriverApi {
  decltype(&::cuInit) cuInit;
  decltype(&::cuGetErrorString) cuGetErrorString;
  decltype(&::cuDeviceGet) cuDeviceGet;
  decltype(&::cuDeviceGetName) cuDeviceGetName;
  decltype(&::cuDeviceGetAttribute) cuDeviceGetAttribute;
  decltype(&::cuDevicePrimaryCtxRetain) cuDevicePrimaryCtxRetain;
  decltype(&::cuCtxSetCurrent) cuCtxSetCurrent;
  decltype(&::cuMemAlloc) cuMemAlloc;
  decltype(&::cuMemFree) cuMemFree;
  decltype(&::cuMemGetInfo) cuMemGetInfo;
  decltype(&::cuMemcpyHtoD) cuMemcpyHtoD;
  decltype(&::cuMemcpyDtoH) cuMemcpyDtoH;
  decltype(&::cuMemcpyDtoD) cuMemcpyDtoD;
  decltype(&::cuMemcpyDtoDAsync) cuMemcpyDtoDAsync;
  decltype(&::cuMemsetD8) cuMemsetD8;
  decltype(&::cuStreamCreate) cuStreamCreate;
  decltype(&::cuStreamSynchronize) cuStreamSynchronize;
  decltype(&::cuStreamBeginCapture) cuStreamBeginCapture;
  decltype(&::cuStreamEndCapture) cuStreamEndCapture;
  decltype(&::cuGraphInstantiateWithFlags) cuGraphInstantiateWithFlags;
  decltype(&::cuGraphLaunch) cuGraphLaunch;
  decltype(&::cuGraphExecDestroy) cuGraphExecDestroy;
  decltype(&::cuGraphDestroy) cuGraphDestroy;
  decltype(&::cuEventCreate) cuEventCreate;
  decltype(&::cuEventRecord) cuEventRecord;
  decltype(&::cuEventSynchronize) cuEventSynchronize;
  decltype(&::cuEventElapsedTime) cuEventElapsedTime;
  decltype(&::cuFuncSetAttribute) cuFuncSetAttribute;
  decltype(&::cuLaunchKernelEx) cuLaunchKernelEx;
  decltype(&::cuTensorMapEncodeTiled) cuTensorMapEncodeTiled;
  // Null in a double of the driver: then the bench's own kernels cannot be loaded.
  decltype(&::cuModuleLoadData) cuModuleLoadData;
  decltype(&::cuModuleUnload) cuModuleUnload;
  decltype(&::cuModuleGetFunction) cuModuleGetFunction;
  // Null in drivers that lack them: then graphs cannot name their kernels.
  decltype(&::cuGraphGetNodes) cuGraphGetNodes;
  decltype(&::cuGraphNodeGetType) cuGraphNodeGetType;
  decltype(&::cuGraphKernelNodeGetParams) cuGraphKernelNodeGetParams;
  decltype(&::cuGraphKernelNodeGetAttribute) cuGraphKernelNodeGetAttribute;
  decltype(&::cuFuncGetName) cuFuncGetName;
};

const DriverApi& driver();  // opened by the first Gpu
void check(CUresult result, const char* call);

// Device 0's primary context (which cuBLASLt shares), made current; one stream; two events.
class Gpu {
 public:
  Gpu();

  CUstream stream() const { return stream_; }
  const std::string& name() const { return name_; }
  bool is_virtual() const { return name_.find("(virtual)") != std::string::npos; }
  const std::string& pci_address() const { return pci_address_; }
  std::size_t l2_bytes() const { return l2_bytes_; }
  int sm_count() const { return sm_count_; }
  int compute_capability_major() const { return compute_capability_major_; }
  double memory_bytes_per_us() const { return memory_bytes_per_us_; }  // the peak
  std::size_t free_bytes() const;

  // Milliseconds that the stream spends on what `work` submits.
  template <class Work>
  double milliseconds(const Work& work) const {
    check(driver().cuEventRecord(begin_, stream_), "cuEventRecord");
    work();
    check(driver().cuEventRecord(end_, stream_), "cuEventRecord");
    check(driver().cuEventSynchronize(end_), "cuEventSynchronize");
    float elapsed = 0;
    check(driver().cuEventElapsedTime(&elapsed, begin_, end_), "cuEventElapsedTime");
    return elapsed;
  }

 private:
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  std::string name_, pci_address_;
  std::size_t l2_bytes_ = 0;
  int sm_count_ = 0, compute_capability_major_ = 0;
  double memory_bytes_per_us_ = 0;
};

class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  CUdeviceptr address(std::size_t offset = 0) const { return address_ + offset; }
  void* pointer(std::size_t offset = 0) const { return reinterpret_cast<void*>(address(offset)); }
  std::size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr address_ = 0;
  std::size_t bytes_;
};

// What `submit` puts on the stream, as an executable graph.
class Graph {
 public:
  template <class Submit>
  Graph(const Gpu& gpu, const Submit& submit) : stream_(gpu.stream()) {
    check(driver().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
          "cuStreamBeginCapture");
    try {
      submit();
    } catch (...) {
      abandon();
      throw;
    }
    finish();
  }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const { check(driver().cuGraphLaunch(executable_, stream_), "cuGraphLaunch"); }

  // The launch of the first kernel whose name begins with `prefix`, and its name. What the
  // parameters point to lives as long as the graph. Throws if the driver cannot say.
  struct KernelLaunch {
    CUDA_KERNEL_NODE_PARAMS params;
    unsigned cluster;  // CTAs, along x
    std::string name;
  };
  KernelLaunch kernel_launch(const std::string& prefix) const;

  // The first kernel whose name begins with `prefix`; "" if there is none or the driver cannot say.
  std::string kernel(const std::string& prefix) const;

  // How many kernels have such names, copies of operands included; 0 also if the driver cannot say.
  int launches(const std::string& prefix) const;

 private:
  struct Kernel {
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params;
    std::string name;
  };
  // Whose names begin with `prefix`, in the order of the graph's nodes.
  std::vector<Kernel> kernels(const std::string& prefix) const;
  // That is no copy of operands.
  std::optional<Kernel> first_kernel(const std::string& prefix) const;
  void finish();
  void abandon() const;  // ends the capture, so that the stream can be used

  CUstream stream_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace bwgemm::bench
