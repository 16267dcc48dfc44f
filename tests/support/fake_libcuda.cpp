// SPDX-License-Identifier: Apache-2.0
// The test double of libcuda: control by tests, devices, contexts. See fake_cuda.h.
#include "support/fake_libcuda.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

namespace bwgemm::test {
namespace {

constexpr FakeDevice devices[] = {
    {"h200", 9, 0, 132, 60 << 20},         {"h200_part", 9, 0, 132, 60 << 20, 12},
    {"b200", 10, 0, 148, 126 << 20},       {"b300", 10, 3, 148, 126 << 20},
    {"thor", 10, 1, 20, 32 << 20},         {"h200_later", 9, 1, 132, 60 << 20},
    {"b300_later", 10, 4, 148, 126 << 20}, {"a100", 8, 0, 108, 40 << 20}};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Contexts of the calling thread, the current one last.
thread_local std::array<FakeContext*, 32> context_stack{};
thread_local std::size_t context_depth = 0;

void set_current(FakeContext* context) {
  if (context == nullptr) {
    if (context_depth > 0) --context_depth;
    return;
  }
  if (context_depth == 0) context_depth = 1;
  context_stack[context_depth - 1] = context;
}

FakeContext* context_of(CUcontext handle) {
  return reinterpret_cast<FakeContext*>(handle);
}

// An entry point under the name that cuGetProcAddress takes, with the CUDA version that gave it the
// form implemented here, and the symbol of that form.
struct Export {
  const char* name;
  int version;
  const char* symbol;
};

constexpr Export exports[] = {
    {"cuInit", 2000, "cuInit"},
    {"cuDriverGetVersion", 2020, "cuDriverGetVersion"},
    {"cuGetErrorName", 6000, "cuGetErrorName"},
    {"cuGetErrorString", 6000, "cuGetErrorString"},
    {"cuDeviceGet", 2000, "cuDeviceGet"},
    {"cuDeviceGetCount", 2000, "cuDeviceGetCount"},
    {"cuDeviceGetName", 2000, "cuDeviceGetName"},
    {"cuDeviceGetAttribute", 2000, "cuDeviceGetAttribute"},
    {"cuDevicePrimaryCtxRetain", 7000, "cuDevicePrimaryCtxRetain"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuDevicePrimaryCtxGetState", 7000, "cuDevicePrimaryCtxGetState"},
    {"cuCtxGetCurrent", 4000, "cuCtxGetCurrent"},
    {"cuCtxSetCurrent", 4000, "cuCtxSetCurrent"},
    {"cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2"},
    {"cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2"},
    {"cuCtxGetDevice", 2000, "cuCtxGetDevice"},
    {"cuCtxGetId", 12000, "cuCtxGetId"},
    {"cuCtxSynchronize", 2000, "cuCtxSynchronize"},
    {"cuCtxGetDevResource", 12040, "cuCtxGetDevResource"},
    {"cuStreamCreate", 2000, "cuStreamCreate"},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {"cuStreamSynchronize", 2000, "cuStreamSynchronize"},
    {"cuStreamGetCtx", 9020, "cuStreamGetCtx"},
    {"cuStreamGetId", 12000, "cuStreamGetId"},
    {"cuStreamIsCapturing", 10000, "cuStreamIsCapturing"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuThreadExchangeStreamCaptureMode", 10010, "cuThreadExchangeStreamCaptureMode"},
    {"cuEventCreate", 2000, "cuEventCreate"},
    {"cuEventDestroy", 4000, "cuEventDestroy_v2"},
    {"cuEventRecord", 2000, "cuEventRecord"},
    {"cuEventSynchronize", 2000, "cuEventSynchronize"},
    {"cuEventElapsedTime", 2000, "cuEventElapsedTime"},
    {"cuEventQuery", 2000, "cuEventQuery"},
    {"cuUserObjectCreate", 11030, "cuUserObjectCreate"},
    {"cuUserObjectRelease", 11030, "cuUserObjectRelease"},
    {"cuGraphRetainUserObject", 11030, "cuGraphRetainUserObject"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemsetD32Async", 3020, "cuMemsetD32Async"},
    {"cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {"cuPointerGetAttribute", 4000, "cuPointerGetAttribute"},
    {"cuLibraryLoadData", 12000, "cuLibraryLoadData"},
    {"cuLibraryUnload", 12000, "cuLibraryUnload"},
    {"cuLibraryGetKernel", 12000, "cuLibraryGetKernel"},
    {"cuKernelGetFunction", 12000, "cuKernelGetFunction"},
    {"cuFuncSetAttribute", 9000, "cuFuncSetAttribute"},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,
     "cuOccupancyMaxActiveBlocksPerMultiprocessor"},
    {"cuOccupancyMaxActiveClusters", 11070, "cuOccupancyMaxActiveClusters"},
    {"cuTensorMapEncodeTiled", 12000, "cuTensorMapEncodeTiled"},
    {"cuLaunchKernelEx", 11060, "cuLaunchKernelEx"},
};

void* own_symbol(const char* symbol) {
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&own_symbol), &self);
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* found = dlsym(library, symbol);
  dlclose(library);
  return found;
}

}  // namespace

FakeDriver::FakeDriver() {
  const std::string_view wanted = variable("FAKE_CUDA_DEVICE");
  for (const FakeDevice& known : devices)
    if (wanted == known.name || (wanted.empty() && &known == devices)) device = &known;
  if (const std::string_view text = variable("FAKE_CUDA_VERSION"); !text.empty())
    version = std::atoi(text.data());
  misuses.reserve(64);
}

FakeDriver& FakeDriver::get() {
  static FakeDriver* driver = new FakeDriver;  // never destroyed: threads may outlive main
  return *driver;
}

namespace {

// What a test does in front of a call is done without the lock: it may take other calls.
std::recursive_mutex& mutex_after_hook(const char* entry) {
  if (const auto hook = FakeDriver::on_call.load()) hook(entry);
  return FakeDriver::get().mutex;
}

}  // namespace

FakeDriver::Call::Call(const char* entry) : lock_(mutex_after_hook(entry)), fault_(CUDA_SUCCESS) {
  FakeDriver& fake = get();
  if (static_cast<std::size_t>(fake.calls) < fake.call_names.size())
    fake.call_names[static_cast<std::size_t>(fake.calls)] = entry;
  ++fake.calls;
  for (Count& count : fake.counts) {
    if (count.entry == nullptr) count.entry = entry;
    if (std::strcmp(count.entry, entry) != 0) continue;
    ++count.calls;
    break;
  }
  const bool is_nth = fake.failing_call > 0 && --fake.failing_call == 0;
  const bool is_named =
      fake.failing_entry != nullptr && std::strcmp(fake.failing_entry, entry) == 0;
  if (is_nth || is_named) fault_ = fake.failure;
}

void FakeDriver::misused(std::string what) {
  misuses.push_back(std::move(what));
}

FakeContext* FakeDriver::current() const {
  return context_depth > 0 ? context_stack[context_depth - 1] : nullptr;
}

}  // namespace bwgemm::test

using namespace bwgemm::test;

// ---- control ------------------------------------------------------------------------------------

FAKE_CUDA_ENTRY void fake_cuda_reset() {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  fake.counts = {};
  fake.call_names = {};
  fake.calls = fake.launch_count = fake.failing_call = 0;
  fake.failing_entry = nullptr;
  fake.duration = nullptr;
  fake.is_quick = false;
  fake.on_call = nullptr;
  fake.misuses.clear();
  fake.capture_mode() = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

FAKE_CUDA_ENTRY CUstreamCaptureMode fake_cuda_capture_mode() {
  return FakeDriver::get().capture_mode();
}

FAKE_CUDA_ENTRY long fake_cuda_calls(const char* entry) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  if (entry == nullptr) return fake.calls;
  for (const FakeDriver::Count& count : fake.counts)
    if (count.entry != nullptr && std::strcmp(count.entry, entry) == 0) return count.calls;
  return 0;
}

FAKE_CUDA_ENTRY const char* fake_cuda_call_name(long n) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  const auto index = static_cast<std::size_t>(n - 1);
  return index < fake.call_names.size() ? fake.call_names[index] : nullptr;
}

FAKE_CUDA_ENTRY void fake_cuda_fail_call(long n, CUresult result) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  fake.failing_call = n;
  fake.failure = result;
}

FAKE_CUDA_ENTRY void fake_cuda_fail_entry(const char* entry, CUresult result) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  fake.failing_entry = entry;
  fake.failure = result;
}

FAKE_CUDA_ENTRY long fake_cuda_launches() {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  return fake.launch_count;
}

FAKE_CUDA_ENTRY const FakeLaunch* fake_cuda_launch(long n) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  if (n < 0 || n >= fake.launch_count) return nullptr;
  return &fake.launches[static_cast<std::size_t>(n) % fake.launches.size()];
}

FAKE_CUDA_ENTRY long fake_cuda_live(Live what) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  const auto alive = [](const auto& owned) {
    long count = 0;
    for (const auto& one : owned) count += one->is_alive ? 1 : 0;
    return count;
  };
  switch (what) {
    case Live::memory: return static_cast<long>(fake.memory.size());
    case Live::streams: return alive(fake.streams);
    case Live::libraries: return alive(fake.libraries);
    case Live::contexts: return alive(fake.contexts);
    case Live::primary_references: return fake.primary_references;
    case Live::graphs: return alive(fake.graphs);
    case Live::events: return alive(fake.events);
  }
  return -1;
}

FAKE_CUDA_ENTRY const char* fake_cuda_misuse(long n) {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  const auto index = static_cast<std::size_t>(n);
  return index < fake.misuses.size() ? fake.misuses[index].c_str() : nullptr;
}

FAKE_CUDA_ENTRY void fake_cuda_on_call(void (*hook)(const char*)) {
  FakeDriver::on_call = hook;
}

FAKE_CUDA_ENTRY void fake_cuda_be_quick() {
  FakeDriver::is_quick = true;
}

FAKE_CUDA_ENTRY void fake_cuda_forget_released() {
  FakeDriver& fake = FakeDriver::get();
  const std::lock_guard lock(fake.mutex);
  const auto is_gone = [](const auto& one) { return !one->is_alive; };
  std::erase_if(fake.libraries, is_gone);
  for (auto& stream : fake.streams)
    if (is_gone(stream)) fake.forgotten_stream = std::move(stream);
  std::erase(fake.streams, nullptr);
  std::erase_if(fake.graphs, is_gone);
  std::erase_if(fake.events, is_gone);
}

// ---- driver and devices -------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuInit(unsigned) {
  const FakeDriver::Call call("cuInit");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (fake.device == nullptr) return CUDA_ERROR_NO_DEVICE;
  fake.is_initialized = true;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuDriverGetVersion(int* version) {
  const FakeDriver::Call call("cuDriverGetVersion");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *version = FakeDriver::get().version;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGetProcAddress_v2(const char* symbol, void** function, int cuda_version,
                                             cuuint64_t, CUdriverProcAddressQueryResult* status) {
  const FakeDriver::Call call("cuGetProcAddress");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *function = nullptr;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (variable("FAKE_CUDA_MISSING") == symbol) return CUDA_ERROR_NOT_FOUND;
  for (const Export& entry : exports) {
    if (std::strcmp(entry.name, symbol) != 0) continue;
    if (cuda_version < entry.version) {
      if (status != nullptr) *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      return CUDA_SUCCESS;
    }
    *function = own_symbol(entry.symbol);
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

FAKE_CUDA_ENTRY CUresult cuGetErrorName(CUresult error, const char** name) {
  const FakeDriver::Call call("cuGetErrorName");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuGetErrorString(CUresult, const char** text) {
  const FakeDriver::Call call("cuGetErrorString");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *text = "an error of the test double";
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuDeviceGetCount(int* count) {
  const FakeDriver::Call call("cuDeviceGetCount");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *count = FakeDriver::get().device != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const FakeDriver::Call call("cuDeviceGet");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (!FakeDriver::get().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  const FakeDriver::Call call("cuDeviceGetName");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  std::strncpy(name, FakeDriver::get().device->name, static_cast<std::size_t>(size) - 1);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const FakeDriver::Call call("cuDeviceGetAttribute");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeDevice& device = *FakeDriver::get().device;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = device.cc_major; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = device.cc_minor; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = device.sm_count; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = device.l2_bytes; break;
    default: *value = 0;
  }
  return CUDA_SUCCESS;
}

// ---- contexts -----------------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  const FakeDriver::Call call("cuDevicePrimaryCtxRetain");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  ++fake.primary_references;
  *context = reinterpret_cast<CUcontext>(&fake.primary);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  const FakeDriver::Call call("cuDevicePrimaryCtxRelease");
  FakeDriver& fake = FakeDriver::get();
  if (fake.primary_references == 0) {
    fake.misused("the primary context is released more often than retained");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  --fake.primary_references;
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  const FakeDriver::Call call("cuDevicePrimaryCtxGetState");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *flags = 0;
  *active = FakeDriver::get().primary_references > 0;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
  const FakeDriver::Call call("cuCtxCreate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  fake.contexts.push_back(std::make_unique<FakeContext>(FakeContext{++fake.last_id}));
  context_stack[context_depth++] = fake.contexts.back().get();
  *context = reinterpret_cast<CUcontext>(fake.contexts.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxDestroy_v2(CUcontext context) {
  const FakeDriver::Call call("cuCtxDestroy");
  if (FakeDriver::get().current() == context_of(context)) --context_depth;
  FakeDriver::get().release_all_of(context_of(context));
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuCtxGetCurrent(CUcontext* context) {
  if (FakeDriver::is_quick) {
    *context = reinterpret_cast<CUcontext>(context_stack[context_depth - 1]);
    return CUDA_SUCCESS;
  }
  const FakeDriver::Call call("cuCtxGetCurrent");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *context = reinterpret_cast<CUcontext>(FakeDriver::get().current());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxSetCurrent(CUcontext context) {
  const FakeDriver::Call call("cuCtxSetCurrent");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  set_current(context_of(context));
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxPushCurrent_v2(CUcontext context) {
  const FakeDriver::Call call("cuCtxPushCurrent");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (context == nullptr || !context_of(context)->is_alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (context_depth == context_stack.size()) {
    FakeDriver::get().misused("contexts are pushed and not popped");
    return CUDA_ERROR_UNKNOWN;
  }
  context_stack[context_depth++] = context_of(context);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  const FakeDriver::Call call("cuCtxPopCurrent");
  if (context_depth == 0) {
    FakeDriver::get().misused("a context is popped that was not pushed");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  --context_depth;
  if (context != nullptr) *context = reinterpret_cast<CUcontext>(context_stack[context_depth]);
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuCtxGetDevice(CUdevice* device) {
  const FakeDriver::Call call("cuCtxGetDevice");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (FakeDriver::get().current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = 0;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (FakeDriver::is_quick) {
    *id = context_of(context)->id;
    return CUDA_SUCCESS;
  }
  const FakeDriver::Call call("cuCtxGetId");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeContext* asked = context != nullptr ? context_of(context) : FakeDriver::get().current();
  if (asked == nullptr || !asked->is_alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = asked->id;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxGetDevResource(CUcontext, CUdevResource* resource,
                                             CUdevResourceType type) {
  const FakeDriver::Call call("cuCtxGetDevResource");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  resource->type = type;
  resource->sm.smCount = static_cast<unsigned>(FakeDriver::get().device->context_sms);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuCtxSynchronize() {
  const FakeDriver::Call call("cuCtxSynchronize");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (fake.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return fake.any_capture(fake.current()) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
