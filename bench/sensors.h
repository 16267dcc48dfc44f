// SPDX-License-Identifier: Apache-2.0
// Sensors: SM clock and power of the GPU, read through NVML where the driver brings it. Declares
// the few entry points that it needs.
#pragma once

#include <string>

namespace bwgemm::bench {

class Sensors {
 public:
  struct Reading {  // 0: unknown
    unsigned sm_mhz = 0;
    double watts = 0;
  };

  // Of the GPU with this PCI address; every reading is 0 if NVML is not there.
  explicit Sensors(const std::string& pci_address);
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  bool present() const { return device_ != nullptr; }
  Reading read() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
  int (*clock_)(void* device, int domain, unsigned* mhz) = nullptr;
  int (*power_)(void* device, unsigned* milliwatts) = nullptr;
};

}  // namespace bwgemm::bench
