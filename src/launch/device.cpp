// SPDX-License-Identifier: Apache-2.0
#include "launch/device.h"

#include <algorithm>
#include <array>

namespace bwgemm {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver.call(driver.cuDeviceGetAttribute, &value, which, device);
  return value;
}

// The device attribute counts the SMs of a MIG slice, the context resource also those of a green
// context. Contexts that have no such resource answer with an error.
int sm_count(const Driver& driver, CUdevice device, CUcontext context) {
  const int of_device = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (!driver.cuCtxGetDevResource) return of_device;
  CUdevResource resource{};
  if (driver.cuCtxGetDevResource(context, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
    return of_device;
  const int of_context = static_cast<int>(resource.sm.smCount);
  return of_context > 0 ? std::min(of_context, of_device) : of_device;
}

}  // namespace

std::string device_name(const Driver& driver) {
  CUdevice device = 0;
  driver.call(driver.cuCtxGetDevice, &device);
  std::array<char, 128> name{};
  driver.call(driver.cuDeviceGetName, name.data(), static_cast<int>(name.size()), device);
  return name.data();
}

DeviceFacts device_facts(const Driver& driver, CUcontext context) {
  CUdevice device = 0;
  driver.call(driver.cuCtxGetDevice, &device);
  DeviceFacts facts;
  facts.cc_major = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.cc_minor = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (!is_supported(facts))
    throw Error(BWGEMM_STATUS_ARCH_MISMATCH,
                text("the GPU is ", device_name(driver), " with compute capability ",
                     facts.cc_major, ".", facts.cc_minor, "; bwgemm serves 9.0 and 10.x"));
  facts.sm_count = sm_count(driver, device, context);
  facts.l2_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  return facts;
}

}  // namespace bwgemm
