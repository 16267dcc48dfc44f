// SPDX-License-Identifier: Apache-2.0
// DeviceBuffer: device memory for the length of a scope, used by work of one stream.
#pragma once

#include <cstddef>

#include "launch/driver.h"

namespace bwgemm {

class DeviceBuffer {
 public:
  DeviceBuffer(const Driver& driver, CUstream stream, std::size_t bytes)
      : driver_(driver), stream_(stream), bytes_(bytes) {
    const CUresult result = driver.cuMemAlloc(&memory_, bytes);
    if (result != CUDA_SUCCESS)
      throw Error(status_of(result), text(driver.describe(driver.cuMemAlloc.name(), result),
                                          " for ", bytes, " bytes"));
  }
  // Behind the work that uses it.
  ~DeviceBuffer() {
    static_cast<void>(driver_.cuStreamSynchronize(stream_));
    static_cast<void>(driver_.cuMemFree(memory_));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  CUdeviceptr memory() const { return memory_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const Driver& driver_;
  CUstream stream_;
  std::size_t bytes_;
  CUdeviceptr memory_ = 0;
};

}  // namespace bwgemm
