// SPDX-License-Identifier: Apache-2.0
// Copies and fills: what the host may assume when the call returns, which differs by direction and
// by kind of host memory, and the work that moves the bytes.
#pragma once

#include <cstddef>

#include "vgpu/driver/api.h"
#include "vgpu/driver/stream.h"

namespace bwgemm::vgpu::driver {

// A rectangle of bytes. One row: pitches do not matter.
struct Copy {
  // Which side of the bus the caller says an address is on; `any`: it says itself.
  enum class Side { host, device, any };
  struct End {
    Side side;
    CUdeviceptr address;
    std::size_t pitch = 0;
  };

  End to, from;
  std::size_t width, height = 1;
};

void copy(const Copy& what, Stream& stream, bool is_asynchronous);

struct Fill {
  CUdeviceptr address;
  std::size_t element_bytes, count;
  unsigned value;
};

void fill(const Fill& what, Stream& stream);

}  // namespace bwgemm::vgpu::driver
