// SPDX-License-Identifier: Apache-2.0
#include "dropin/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

#include "dropin/once.h"

namespace bwgemm::dropin {
namespace {

template <class Function>
void find(void* from, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(from, name));
}

// Without functions if there is no driver.
const Device* opened_driver() {
  const char* const named = secure_getenv("BWGEMM_LIBCUDA");
  const char* const path = named != nullptr && *named != '\0' ? named : "libcuda.so.1";
  void* const from = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto* const made = new Device{};
  if (from == nullptr) return made;
  Device& found = *made;
  find(from, "cuCtxGetCurrent", found.ctx_get_current);
  find(from, "cuCtxGetId", found.ctx_get_id);
  find(from, "cuCtxGetDevice", found.ctx_get_device);
  find(from, "cuDeviceGetName", found.device_get_name);
  find(from, "cuDeviceGetAttribute", found.device_get_attribute);
  find(from, "cuCtxGetDevResource", found.ctx_get_dev_resource);
  find(from, "cuCtxPushCurrent_v2", found.ctx_push_current);
  find(from, "cuCtxPopCurrent_v2", found.ctx_pop_current);
  find(from, "cuMemAlloc_v2", found.mem_alloc);
  find(from, "cuMemFree_v2", found.mem_free);
  find(from, "cuMemcpyHtoDAsync_v2", found.memcpy_htod_async);
  find(from, "cuMemcpyDtoHAsync_v2", found.memcpy_dtoh_async);
  find(from, "cuMemcpyDtoDAsync_v2", found.memcpy_dtod_async);
  find(from, "cuMemsetD8Async", found.memset_d8_async);
  find(from, "cuStreamSynchronize", found.stream_synchronize);
  find(from, "cuStreamIsCapturing", found.stream_is_capturing);
  find(from, "cuStreamGetId", found.stream_get_id);
  find(from, "cuThreadExchangeStreamCaptureMode", found.thread_exchange_stream_capture_mode);
  found.is_open = true;
  return made;
}

CUdevice current_device(const Device& driver) {
  CUdevice number = 0;
  return driver.ctx_get_device(&number) == CUDA_SUCCESS ? number : 0;
}

}  // namespace

bool Device::can_check() const {
  return ctx_push_current != nullptr && ctx_pop_current != nullptr && mem_alloc != nullptr &&
         mem_free != nullptr && memcpy_htod_async != nullptr && memcpy_dtoh_async != nullptr &&
         memcpy_dtod_async != nullptr && memset_d8_async != nullptr &&
         stream_synchronize != nullptr && stream_is_capturing != nullptr &&
         thread_exchange_stream_capture_mode != nullptr;
}

const Device* device() {
  static constinit std::atomic<const Device*> kept{nullptr};
  const Device& once = made_once(kept, opened_driver);
  return once.is_open ? &once : nullptr;
}

ContextIdentity current_context() {
  ContextIdentity found;
  const Device* const driver = device();
  if (driver == nullptr || driver->ctx_get_current == nullptr || driver->ctx_get_id == nullptr ||
      driver->ctx_get_current(&found.context) != CUDA_SUCCESS || found.context == nullptr ||
      driver->ctx_get_id(found.context, &found.number) != CUDA_SUCCESS)
    return {};
  return found;
}

std::string current_device_name() {
  const Device* const driver = device();
  std::array<char, 256> name{};
  if (driver == nullptr || driver->ctx_get_device == nullptr || driver->device_get_name == nullptr)
    return "";
  const CUdevice number = current_device(*driver);
  const bool is_known = driver->device_get_name(name.data(), name.size(), number) == CUDA_SUCCESS;
  return is_known ? name.data() : "";
}

DeviceNumbers current_device_numbers() {
  const Device* const driver = device();
  if (driver == nullptr || driver->ctx_get_device == nullptr ||
      driver->device_get_attribute == nullptr)
    return {};
  const CUdevice number = current_device(*driver);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return driver->device_get_attribute(&value, which, number) == CUDA_SUCCESS ? value : 0;
  };
  int multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  CUdevResource resource{};
  if (const CUcontext context = current_context().context;
      context != nullptr && driver->ctx_get_dev_resource != nullptr &&
      driver->ctx_get_dev_resource(context, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      resource.sm.smCount > 0)
    multiprocessors = std::min(multiprocessors, static_cast<int>(resource.sm.smCount));
  const double khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const double bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  return {attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), multiprocessors,
          2 * khz * 1e3 * bits / 8};
}

unsigned long long number_of(CUstream stream) {
  const Device* const driver = device();
  if (driver == nullptr || driver->stream_is_capturing == nullptr ||
      driver->stream_get_id == nullptr || stream == nullptr || stream == CU_STREAM_LEGACY ||
      stream == CU_STREAM_PER_THREAD)
    return 0;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver->stream_is_capturing(stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_NONE)
    return 0;
  unsigned long long number = 0;
  return driver->stream_get_id(stream, &number) == CUDA_SUCCESS ? number : 0;
}

}  // namespace bwgemm::dropin
