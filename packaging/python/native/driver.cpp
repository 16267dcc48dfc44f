// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>

#include "library.h"
#include "python.h"

namespace bwgemm_python {
namespace {

// Never destroyed: threads may be inside of calls when the process exits.
std::mutex& once() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

void expect(int result, const char* name) {
  if (result == 0) return;
  std::string text(name);
  text.append(" failed with CUDA error ").append(std::to_string(result));
  throw Failure{BWGEMM_STATUS_INTERNAL_ERROR, text};
}

template <class Function>
void require(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(file, name));
  if (function != nullptr) return;
  throw Failure{BWGEMM_STATUS_DRIVER_TOO_OLD, std::string("the CUDA driver has no ").append(name)};
}

Driver opened() {
  // Ignored, as by the library, in a program that runs with more rights than its user.
  const char* named = secure_getenv("BWGEMM_LIBCUDA");
  void* file = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    std::string text("the CUDA driver cannot be opened: ");
    throw Failure{BWGEMM_STATUS_NO_DRIVER, text.append(dlerror())};
  }
  Driver found;
  require(file, "cuInit", found.init);
  require(file, "cuPointerGetAttribute", found.pointer_attribute);
  require(file, "cuDevicePrimaryCtxRetain", found.retain_primary_context);
  require(file, "cuCtxPushCurrent_v2", found.push_context);
  require(file, "cuCtxPopCurrent_v2", found.pop_context);
  require(file, "cuEventCreate", found.create_event);
  require(file, "cuEventRecord", found.record_event);
  require(file, "cuStreamWaitEvent", found.wait_event);
  require(file, "cuEventDestroy_v2", found.destroy_event);
  require(file, "cuThreadExchangeStreamCaptureMode", found.exchange_capture_mode);
  expect(found.init(0), "cuInit");
  return found;
}

void* primary_context(int device) {
  static auto* const contexts = new std::map<int, void*>;
  const Driver& cuda = driver();
  const std::lock_guard lock(once());
  void*& context = (*contexts)[device];
  if (context == nullptr) {
    expect(cuda.retain_primary_context(&context, device), "cuDevicePrimaryCtxRetain");
  }
  return context;
}

}  // namespace

const Driver& driver() {
  static const Driver* found = nullptr;
  const std::lock_guard lock(once());
  if (found == nullptr) found = new Driver(opened());
  return *found;
}

CurrentDevice::CurrentDevice(int device) {
  expect(driver().push_context(primary_context(device)), "cuCtxPushCurrent");
}

CurrentDevice::~CurrentDevice() {
  void* popped = nullptr;
  driver().pop_context(&popped);
}

DuringCaptures::DuringCaptures() {
  expect(driver().exchange_capture_mode(&mode_), "cuThreadExchangeStreamCaptureMode");
}

DuringCaptures::~DuringCaptures() {
  driver().exchange_capture_mode(&mode_);
}

void reset_after_fork() {
  new (&once()) std::mutex;
}

int device_of(unsigned long long pointer) {
  const int device_ordinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  int ordinal = 0;
  expect(driver().pointer_attribute(&ordinal, device_ordinal, pointer), "cuPointerGetAttribute");
  return ordinal;
}

void wait_for(int device, void* stream, void* producer) {
  const CurrentDevice current(device);
  const Driver& cuda = driver();
  void* event = nullptr;
  const unsigned no_timing = 2;
  expect(cuda.create_event(&event, no_timing), "cuEventCreate");
  const int recorded = cuda.record_event(event, producer);
  const int waits = recorded == 0 ? cuda.wait_event(stream, event, 0) : 0;
  cuda.destroy_event(event);
  expect(recorded, "cuEventRecord");
  expect(waits, "cuStreamWaitEvent");
}

}  // namespace bwgemm_python
