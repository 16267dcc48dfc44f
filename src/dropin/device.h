// SPDX-License-Identifier: Apache-2.0
// What this library needs of the CUDA driver, beside what bwgemm does with it: to know contexts
// apart, and in mode check to copy and compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <string>

namespace bwgemm::dropin {

// Members have the functions' names without "cu". Those that the driver lacks are null.
struct Device {
  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_get_id)(CUcontext, unsigned long long*);
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*device_get_name)(char*, int, CUdevice);
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*ctx_get_dev_resource)(CUcontext, CUdevResource*, CUdevResourceType);
  CUresult (*ctx_push_current)(CUcontext);
  CUresult (*ctx_pop_current)(CUcontext*);
  CUresult (*mem_alloc)(CUdeviceptr*, std::size_t);
  CUresult (*mem_free)(CUdeviceptr);
  CUresult (*memcpy_htod_async)(CUdeviceptr, const void*, std::size_t, CUstream);
  CUresult (*memcpy_dtoh_async)(void*, CUdeviceptr, std::size_t, CUstream);
  CUresult (*memcpy_dtod_async)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
  CUresult (*memset_d8_async)(CUdeviceptr, unsigned char, std::size_t, CUstream);
  CUresult (*stream_synchronize)(CUstream);
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*);
  CUresult (*stream_get_id)(CUstream, unsigned long long*);
  CUresult (*thread_exchange_stream_capture_mode)(CUstreamCaptureMode*);

  bool is_open = false;
  bool can_check() const;  // it has what mode check needs
};

// The driver that bwgemm opens; null if there is none.
const Device* device();

// A context while it lives: contexts made later have other numbers, though perhaps its address.
struct ContextIdentity {
  CUcontext context = nullptr;
  unsigned long long number = 0;

  bool is_known() const { return context != nullptr; }
  bool operator==(const ContextIdentity& other) const {
    return context == other.context && number == other.number;
  }
};

// The calling thread's context. Unknown if the thread has none or the driver does not tell.
ContextIdentity current_context();

// The name of that context's device. Without a context that of device 0, where bwgemm then makes
// its handle. Empty if it is not known.
std::string current_device_name();

// Of the device that current_device_name() names; multiprocessors of the context, which may have a
// part of them. 0: not known.
struct DeviceNumbers {
  int capability_major = 0, multiprocessors = 0;
  double memory_bytes_per_s = 0;
};
DeviceNumbers current_device_numbers();

// A number that no other stream of the process has or had. 0 if the stream is one of the driver's
// default ones, is being captured, which asking would end, or cannot be asked.
unsigned long long number_of(CUstream stream);

}  // namespace bwgemm::dropin
