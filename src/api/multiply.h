// SPDX-License-Identifier: Apache-2.0
// multiply: a product from its arguments to the launch: validated -> choose -> plan -> launch, or
// only the last for a call like one before it.
#pragma once

#include "api/handle.h"
#include "api/validate.h"

namespace bwgemm {

void multiply(Handle& handle, const GemmArguments& arguments);
void multiply(Handle& handle, const MatmulArguments& arguments);

// Those of the call where it has some, else the handle's.
CallSettings call_settings(const Handle& handle, const GemmArguments& arguments);
CallSettings call_settings(const Handle& handle, const MatmulArguments& arguments);

// Launches a plan at the operands it was made for; `memory` is the caller's workspace. The handle's
// context is current.
void start(Handle& handle, const KnownPlan& known, void* memory);

}  // namespace bwgemm
