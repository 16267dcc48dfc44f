// SPDX-License-Identifier: Apache-2.0
//
// What the package needs of the CUDA driver beside the library: contexts, the device of an address,
// and order between streams. Every function throws a Failure where the driver cannot be opened or
// fails.
#pragma once

namespace bwgemm_python {

struct Driver {
  int (*init)(unsigned);
  int (*pointer_attribute)(void*, int, unsigned long long);
  int (*retain_primary_context)(void**, int);
  int (*push_context)(void*);
  int (*pop_context)(void**);
  int (*create_event)(void**, unsigned);
  int (*record_event)(void*, void*);
  int (*wait_event)(void*, void*, unsigned);
  int (*destroy_event)(void*);
  int (*exchange_capture_mode)(int*);
};

// The file that BWGEMM_LIBCUDA names, or libcuda.so.1. Opened by the first call that succeeds.
const Driver& driver();

// The device's primary context is current for the length of a scope. The context is kept for good.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
};

// The thread may call what is not allowed during a capture of its own or of others, for the length
// of a scope: nothing that it calls then has to do with the captured work.
class DuringCaptures {
 public:
  DuringCaptures();
  ~DuringCaptures();
  DuringCaptures(const DuringCaptures&) = delete;
  DuringCaptures& operator=(const DuringCaptures&) = delete;

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

int device_of(unsigned long long pointer);

// In a forked child: another thread of the parent may have been opening the driver.
void reset_after_fork();

// Work that comes on `stream` waits for what `producer`, another stream, holds now.
void wait_for(int device, void* stream, void* producer);

}  // namespace bwgemm_python
