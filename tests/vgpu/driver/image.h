// SPDX-License-Identifier: Apache-2.0
// Image: code as callers hand it over (PTX, a fatbin with PTX, or an embedded blob that an index
// names the PTX of), found, read and parsed. Equal bytes are parsed once in the life of a process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "vgpu/driver/device.h"
#include "vgpu/driver/signature.h"
#include "vgpu/machine.h"

namespace bwgemm::vgpu::driver {

struct Image {
  const Signature* find(std::string_view kernel) const;  // null: no such kernel

  std::string origin;  // file or hash, for messages
  Ptx ptx;
  std::shared_ptr<const vgpu::Module> module;
  std::unordered_map<std::string, int> registers;  // by kernel, as far as the build wrote them down
};

// Fails, and says why on stderr, if there is no PTX to be had or it is not for this device.
std::shared_ptr<const Image> load_image(const void* code, const DeviceModel& model);

}  // namespace bwgemm::vgpu::driver
