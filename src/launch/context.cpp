// SPDX-License-Identifier: Apache-2.0
#include "launch/context.h"

namespace bwgemm {

Context::Context(const Driver& driver) : driver_(driver) {
  driver.call(driver.cuCtxGetCurrent, &context_);
  if (context_ == nullptr) {
    driver.call(driver.cuDeviceGet, &device_, 0);
    driver.call(driver.cuDevicePrimaryCtxRetain, &context_, device_);
    is_retained_ = true;
  }
  const CUresult result = driver.cuCtxGetId(context_, &id_);
  if (result == CUDA_SUCCESS) return;
  if (is_retained_) static_cast<void>(driver.cuDevicePrimaryCtxRelease(device_));
  throw Error(status_of(result), driver.describe(driver.cuCtxGetId.name(), result));
}

Context::~Context() {
  // The driver refuses when it was shut down before; there is nothing to release then.
  if (is_retained_) static_cast<void>(driver_.cuDevicePrimaryCtxRelease(device_));
}

}  // namespace bwgemm
