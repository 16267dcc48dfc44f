// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as tests use it: opened at run time (BWGEMM_LIBCUDA or libcuda.so.1), every call
// checked, resources as values. GpuTest is the fixture of every test that needs a device.
#pragma once

#include <cstddef>
#include <cuda.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "core/kernel_config.h"

namespace bwgemm::test {

// Entry points that tests call. Members keep the names of the API without "cu".
struct Driver {
  decltype(&::cuInit) init;
  decltype(&::cuDriverGetVersion) driver_get_version;
  decltype(&::cuGetErrorName) get_error_name;
  decltype(&::cuDeviceGetCount) device_get_count;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetAttribute) device_get_attribute;
  decltype(&::cuDevicePrimaryCtxRetain) device_primary_ctx_retain;
  decltype(&::cuDevicePrimaryCtxRelease) device_primary_ctx_release;
  decltype(&::cuDevicePrimaryCtxGetState) device_primary_ctx_get_state;
  CUresult (*ctx_create_v2)(CUcontext*, unsigned, CUdevice);  // <cuda.h> declares only the newest
  decltype(&::cuCtxDestroy) ctx_destroy;
  decltype(&::cuCtxGetCurrent) ctx_get_current;
  decltype(&::cuCtxSetCurrent) ctx_set_current;
  decltype(&::cuCtxSynchronize) ctx_synchronize;
  decltype(&::cuMemAlloc) mem_alloc;
  decltype(&::cuMemFree) mem_free;
  decltype(&::cuMemGetInfo) mem_get_info;
  decltype(&::cuMemAddressReserve) mem_address_reserve;
  decltype(&::cuMemAddressFree) mem_address_free;
  decltype(&::cuMemcpyHtoD) memcpy_htod;
  decltype(&::cuMemcpyDtoH) memcpy_dtoh;
  decltype(&::cuMemcpyHtoDAsync) memcpy_htod_async;
  decltype(&::cuMemcpyDtoHAsync) memcpy_dtoh_async;
  decltype(&::cuMemcpyDtoDAsync) memcpy_dtod_async;
  decltype(&::cuMemsetD16) memset_d16;
  decltype(&::cuMemsetD16Async) memset_d16_async;
  decltype(&::cuStreamCreate) stream_create;
  decltype(&::cuStreamDestroy) stream_destroy;
  decltype(&::cuStreamSynchronize) stream_synchronize;
  decltype(&::cuStreamBeginCapture) stream_begin_capture;
  decltype(&::cuStreamEndCapture) stream_end_capture;
  decltype(&::cuStreamIsCapturing) stream_is_capturing;
  decltype(&::cuStreamWaitEvent) stream_wait_event;
  decltype(&::cuEventCreate) event_create;
  decltype(&::cuEventDestroy) event_destroy;
  decltype(&::cuEventRecord) event_record;
  decltype(&::cuGraphInstantiateWithFlags) graph_instantiate;
  decltype(&::cuGraphLaunch) graph_launch;
  decltype(&::cuGraphExecDestroy) graph_exec_destroy;
  decltype(&::cuGraphDestroy) graph_destroy;
};

// The file that tests and library open, and the driver itself; throws if it cannot be opened.
std::string driver_path();
const Driver& driver();

// Empty if GPU tests can run here, else the reason why not.
std::string why_no_gpu();

// True if BWGEMM_TEST_SCALE=small: few and small problems, for slow devices.
bool small_scale();

// Throws with the name of the error; `what` says which call failed.
void check(CUresult result, const char* what);

void synchronize();
int device_attribute(CUdevice_attribute attribute);
Arch device_arch();
std::size_t free_device_bytes();

// The primary context of device 0 is current during each test. Skips without a GPU, or fails if
// BWGEMM_TEST_REQUIRE_GPU is set.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  CUcontext context_ = nullptr;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept : address_(std::exchange(other.address_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory();
  CUdeviceptr address() const { return address_; }
  template <class T = void>
  T* as() const {
    return reinterpret_cast<T*>(address_);
  }

 private:
  CUdeviceptr address_ = 0;
};

// Address space that nothing is mapped to: any access is an error of the device.
class UnmappedMemory {
 public:
  UnmappedMemory();
  UnmappedMemory(const UnmappedMemory&) = delete;
  ~UnmappedMemory();
  void* pointer() const { return reinterpret_cast<void*>(address_); }

 private:
  static constexpr std::size_t bytes = std::size_t{64} << 20;
  CUdeviceptr address_ = 0;
};

class Stream {
 public:
  explicit Stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();
  CUstream get() const { return stream_; }
  void synchronize() const;

 private:
  CUstream stream_ = nullptr;
};

// Puts what a stream does from now on behind what another has been given so far. If that one is
// being captured, the stream becomes part of the capture.
void depend(CUstream stream, CUstream on);

// A context beside the primary one. Creating it leaves the caller's current context as it was.
class Context {
 public:
  Context();
  Context(const Context&) = delete;
  ~Context();
  CUcontext get() const { return context_; }

 private:
  CUcontext context_ = nullptr;
};

// Makes a context current (null: none) until the end of the scope.
class CurrentContext {
 public:
  explicit CurrentContext(CUcontext context);
  CurrentContext(const CurrentContext&) = delete;
  ~CurrentContext();

 private:
  CUcontext previous_ = nullptr;
};

// An instantiated graph.
class Graph {
 public:
  explicit Graph(CUgraph captured);  // takes ownership of `captured`
  Graph(const Graph&) = delete;
  ~Graph();
  void launch(CUstream stream) const;

 private:
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

}  // namespace bwgemm::test
