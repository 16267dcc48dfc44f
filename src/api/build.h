// SPDX-License-Identifier: Apache-2.0
// built: the program of a problem and a choice. Calls no driver but to load kernels.
#pragma once

#include "api/handle.h"
#include "api/validate.h"

namespace bwgemm {

// The handle's context is current. Error(NOT_SUPPORTED) if a kernel does not fit what the context
// has of the device.
Program built(Handle& handle, const ValidProblem& problem, const Choice& choice,
              const CallSettings& call);

// What the kernels of such a program need of the device's memory: copies and product, and then the
// bias gradient.
ScratchNeed need_of(const Problem& problem, const Choice& choice,
                    const BiasGradientLaunch& bias_gradient, const CallSettings& call);

BiasGradientLaunch bias_gradient_of(const Handle& handle, const Problem& problem,
                                    const CallSettings& call);

}  // namespace bwgemm
