// SPDX-License-Identifier: Apache-2.0
#include "support/driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <string_view>

#include "core/device_facts.h"

namespace bwgemm::test {
namespace {

template <class Function>
void find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr) throw std::runtime_error(driver_path() + " lacks the symbol " + symbol);
}

Driver load() {
  void* library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  Driver found{};
  find(library, "cuInit", found.init);
  find(library, "cuDriverGetVersion", found.driver_get_version);
  find(library, "cuGetErrorName", found.get_error_name);
  find(library, "cuDeviceGetCount", found.device_get_count);
  find(library, "cuDeviceGet", found.device_get);
  find(library, "cuDeviceGetAttribute", found.device_get_attribute);
  find(library, "cuDevicePrimaryCtxRetain", found.device_primary_ctx_retain);
  find(library, "cuDevicePrimaryCtxRelease_v2", found.device_primary_ctx_release);
  find(library, "cuDevicePrimaryCtxGetState", found.device_primary_ctx_get_state);
  find(library, "cuCtxCreate_v2", found.ctx_create_v2);
  find(library, "cuCtxDestroy_v2", found.ctx_destroy);
  find(library, "cuCtxGetCurrent", found.ctx_get_current);
  find(library, "cuCtxSetCurrent", found.ctx_set_current);
  find(library, "cuCtxSynchronize", found.ctx_synchronize);
  find(library, "cuMemAlloc_v2", found.mem_alloc);
  find(library, "cuMemFree_v2", found.mem_free);
  find(library, "cuMemGetInfo_v2", found.mem_get_info);
  find(library, "cuMemAddressReserve", found.mem_address_reserve);
  find(library, "cuMemAddressFree", found.mem_address_free);
  find(library, "cuMemcpyHtoD_v2", found.memcpy_htod);
  find(library, "cuMemcpyDtoH_v2", found.memcpy_dtoh);
  find(library, "cuMemcpyHtoDAsync_v2", found.memcpy_htod_async);
  find(library, "cuMemcpyDtoHAsync_v2", found.memcpy_dtoh_async);
  find(library, "cuMemcpyDtoDAsync_v2", found.memcpy_dtod_async);
  find(library, "cuMemsetD16_v2", found.memset_d16);
  find(library, "cuMemsetD16Async", found.memset_d16_async);
  find(library, "cuStreamCreate", found.stream_create);
  find(library, "cuStreamDestroy_v2", found.stream_destroy);
  find(library, "cuStreamSynchronize", found.stream_synchronize);
  find(library, "cuStreamBeginCapture_v2", found.stream_begin_capture);
  find(library, "cuStreamEndCapture", found.stream_end_capture);
  find(library, "cuStreamIsCapturing", found.stream_is_capturing);
  find(library, "cuStreamWaitEvent", found.stream_wait_event);
  find(library, "cuEventCreate", found.event_create);
  find(library, "cuEventDestroy_v2", found.event_destroy);
  find(library, "cuEventRecord", found.event_record);
  find(library, "cuGraphInstantiateWithFlags", found.graph_instantiate);
  find(library, "cuGraphLaunch", found.graph_launch);
  find(library, "cuGraphExecDestroy", found.graph_exec_destroy);
  find(library, "cuGraphDestroy", found.graph_destroy);
  return found;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string driver_path() {
  return is_set("BWGEMM_LIBCUDA") ? std::getenv("BWGEMM_LIBCUDA") : "libcuda.so.1";
}

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

std::string why_no_gpu() {
  void* library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("no CUDA driver: ") + dlerror();
  if (dlsym(library, "fake_cuda_reset") != nullptr)
    return driver_path() + " is the test double, which computes nothing";
  const Driver& cu = driver();
  if (const CUresult result = cu.init(0); result != CUDA_SUCCESS)
    return "cuInit fails with error " + std::to_string(result);
  int count = 0;
  if (cu.device_get_count(&count) != CUDA_SUCCESS || count == 0) return "the driver has no device";
  const int major = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (!is_supported({.cc_major = major, .cc_minor = minor}))
    return "device 0 has compute capability " + std::to_string(major) + "." +
           std::to_string(minor) + ", not 9.0, 10.0 or 10.3";
  return "";
}

bool small_scale() {
  const char* scale = std::getenv("BWGEMM_TEST_SCALE");
  return scale != nullptr && std::string_view(scale) == "small";
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver().get_error_name(result, &name);
  throw std::runtime_error(std::string(what) + " failed: " + (name != nullptr ? name : "?"));
}

void synchronize() {
  check(driver().ctx_synchronize(), "cuCtxSynchronize");
}

int device_attribute(CUdevice_attribute attribute) {
  int value = 0;
  check(driver().device_get_attribute(&value, attribute, 0), "cuDeviceGetAttribute");
  return value;
}

Arch device_arch() {
  return device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9 ? Arch::sm90
                                                                             : Arch::sm100;
}

std::size_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  check(driver().mem_get_info(&free, &total), "cuMemGetInfo");
  return free;
}

void GpuTest::SetUp() {
  static const std::string reason = why_no_gpu();
  if (!reason.empty()) {
    if (is_set("BWGEMM_TEST_REQUIRE_GPU")) FAIL() << "a GPU is required, but " << reason;
    GTEST_SKIP() << reason;
  }
  check(driver().device_primary_ctx_retain(&context_, 0), "cuDevicePrimaryCtxRetain");
  check(driver().ctx_set_current(context_), "cuCtxSetCurrent");
}

void GpuTest::TearDown() {
  if (context_ == nullptr) return;
  EXPECT_EQ(driver().ctx_set_current(context_), CUDA_SUCCESS);
  EXPECT_EQ(driver().ctx_synchronize(), CUDA_SUCCESS) << "the test left the context broken";
  EXPECT_EQ(driver().ctx_set_current(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().device_primary_ctx_release(0), CUDA_SUCCESS);
}

DeviceMemory::DeviceMemory(std::size_t bytes) {
  check(driver().mem_alloc(&address_, bytes > 0 ? bytes : 1), "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) driver().mem_free(address_);
}

UnmappedMemory::UnmappedMemory() {
  check(driver().mem_address_reserve(&address_, bytes, 0, 0, 0), "cuMemAddressReserve");
}

UnmappedMemory::~UnmappedMemory() {
  driver().mem_address_free(address_, bytes);
}

Stream::Stream(unsigned flags) {
  check(driver().stream_create(&stream_, flags), "cuStreamCreate");
}

Stream::~Stream() {
  if (stream_ != nullptr) driver().stream_destroy(stream_);
}

void Stream::synchronize() const {
  check(driver().stream_synchronize(stream_), "cuStreamSynchronize");
}

void depend(CUstream stream, CUstream on) {
  CUevent event = nullptr;
  check(driver().event_create(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  check(driver().event_record(event, on), "cuEventRecord");
  check(driver().stream_wait_event(stream, event, 0), "cuStreamWaitEvent");
  check(driver().event_destroy(event), "cuEventDestroy");
}

Context::Context() {
  const CurrentContext restore(nullptr);
  check(driver().ctx_create_v2(&context_, 0, 0), "cuCtxCreate");
}

Context::~Context() {
  driver().ctx_destroy(context_);
}

CurrentContext::CurrentContext(CUcontext context) {
  check(driver().ctx_get_current(&previous_), "cuCtxGetCurrent");
  check(driver().ctx_set_current(context), "cuCtxSetCurrent");
}

CurrentContext::~CurrentContext() {
  driver().ctx_set_current(previous_);
}

Graph::Graph(CUgraph captured) : graph_(captured) {
  check(driver().graph_instantiate(&exec_, graph_, 0), "cuGraphInstantiate");
}

Graph::~Graph() {
  driver().graph_exec_destroy(exec_);
  driver().graph_destroy(graph_);
}

void Graph::launch(CUstream stream) const {
  check(driver().graph_launch(exec_, stream), "cuGraphLaunch");
}

}  // namespace bwgemm::test
