// SPDX-License-Identifier: Apache-2.0
// device_facts: what selection may know of the GPU behind the current context.
#pragma once

#include <string>

#include "core/device_facts.h"
#include "launch/driver.h"

namespace bwgemm {

// Facts of the current context, which must be `context`. Error(ARCH_MISMATCH) names a GPU that no
// kernel is made for.
DeviceFacts device_facts(const Driver& driver, CUcontext context);

// The name of the current context's device.
std::string device_name(const Driver& driver);

}  // namespace bwgemm
