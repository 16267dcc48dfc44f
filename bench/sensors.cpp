// SPDX-License-Identifier: Apache-2.0
#include "sensors.h"

#include <dlfcn.h>

#include "bind.h"

namespace bwgemm::bench {

namespace {

constexpr int success = 0;   // NVML_SUCCESS
constexpr int clock_sm = 1;  // NVML_CLOCK_SM

}  // namespace

Sensors::Sensors(const std::string& pci_address) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library_ == nullptr) return;
  int (*init)() = nullptr;
  int (*device_at)(const char*, void**) = nullptr;
  if (!bind_if_there(library_, "nvmlInit_v2", init) ||
      !bind_if_there(library_, "nvmlDeviceGetHandleByPciBusId_v2", device_at) ||
      !bind_if_there(library_, "nvmlDeviceGetClockInfo", clock_) ||
      !bind_if_there(library_, "nvmlDeviceGetPowerUsage", power_) || init() != success)
    return;
  if (device_at(pci_address.c_str(), &device_) != success) device_ = nullptr;
}

Sensors::~Sensors() {
  if (library_ != nullptr) dlclose(library_);
}

Sensors::Reading Sensors::read() const {
  Reading reading;
  if (!present()) return reading;
  unsigned milliwatts = 0;
  if (clock_(device_, clock_sm, &reading.sm_mhz) != success) reading.sm_mhz = 0;
  if (power_(device_, &milliwatts) == success) reading.watts = milliwatts * 1e-3;
  return reading;
}

}  // namespace bwgemm::bench
