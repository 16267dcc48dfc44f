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
// context, which says how many are sure to be neighbours: two where it says nothing. Contexts that
// have no such resource answer with an error.
void add_multiprocessors(const Driver& driver, CUdevice device, CUcontext context,
                         DeviceFacts& facts) {
  facts.sm_count = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (!driver.cuCtxGetDevResource) return;
  CUdevResource resource{};
  if (driver.cuCtxGetDevResource(context, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
    return;
  const int of_context = static_cast<int>(resource.sm.smCount);
  if (of_context <= 0 || of_context >= facts.sm_count) return;
  facts.sm_count = of_context;
  facts.largest_cluster =
      std::clamp(static_cast<int>(resource.sm.smCoscheduledAlignment), 2, facts.largest_cluster);
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
                     facts.cc_major, ".", facts.cc_minor, "; bwgemm serves 9.0, 10.0 and 10.3"));
  add_multiprocessors(driver, device, context, facts);
  facts.l2_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.memory_bytes_per_us = peak_memory_bytes_per_us(
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  return facts;
}

}  // namespace bwgemm
