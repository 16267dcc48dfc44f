// SPDX-License-Identifier: Apache-2.0
// multiply: a product from its arguments to the launch: validated -> choose -> built -> run, or
// only the last for a call like one before it.
#pragma once

#include "api/arguments.h"
#include "api/handle.h"

namespace bwgemm {

void multiply(Handle& handle, Arguments arguments);

// The call's own where it has some, else the handle's.
CallSettings call_settings(const Handle& handle, const Arguments& arguments);

}  // namespace bwgemm
