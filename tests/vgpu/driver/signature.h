// SPDX-License-Identifier: Apache-2.0
// What a driver must know of PTX to launch its kernels: the target, the parameters, the bounds that
// kernels declare. Everything else in the text is the machine's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bwgemm::vgpu::driver {

struct Signature {
  struct Parameter {
    std::size_t offset, size;
  };

  std::size_t parameter_bytes() const {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
  }

  std::string name;
  std::vector<Parameter> parameters;
  int max_threads = 1024;                // .maxntid, .reqntid
  int max_registers = 255;               // .maxnreg
  std::uint32_t cluster[3] = {0, 0, 0};  // .reqnctapercluster; zeros: the launch decides
};

struct Ptx {
  std::string target;  // "sm_90a"; empty: this is no PTX
  std::vector<Signature> kernels;
};

Ptx read_ptx(std::string_view text);

// True if a device of this compute capability runs the target: "sm_90" and newer devices, "sm_90a"
// and this device alone, "sm_100f" and the devices of its family.
bool runs_on(std::string_view target, int cc_major, int cc_minor);

}  // namespace bwgemm::vgpu::driver
