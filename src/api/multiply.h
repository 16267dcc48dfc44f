// SPDX-License-Identifier: Apache-2.0
// multiply: a product from its arguments to the launch: validated -> choose -> plan -> launch, or
// only the last for a call like one before it.
#pragma once

#include <span>
#include <vector>

#include "api/handle.h"
#include "api/validate.h"

namespace bwgemm {

void multiply(Handle& handle, const GemmArguments& arguments);
void multiply(Handle& handle, const MatmulArguments& arguments);

// Those of the call where it has some, else the handle's.
CallSettings call_settings(const Handle& handle, const GemmArguments& arguments);
CallSettings call_settings(const Handle& handle, const MatmulArguments& arguments);

// Of all parts of a call. The handle's context is current, as for the next function.
std::vector<KnownPlan> planned(Handle& handle, const Problem& problem, const Choice& choice,
                               const CallSettings& call);

// Launches plans one after the other at the operands they were made for; `memory` is the caller's
// workspace.
void start(Handle& handle, std::span<const KnownPlan> plans, void* memory);

}  // namespace bwgemm
