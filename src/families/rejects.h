// SPDX-License-Identifier: Apache-2.0
// Why a kernel cannot serve a problem on a device. Says nothing about speed: see cost.h.
#pragma once

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"

namespace bwgemm {

// Null, or the reason, as static text, which speaks of the problem as it is given here, also where
// the kernel sees it transposed. facts.sm_count is what the call may occupy.
const char* rejects(const Problem& problem, const DeviceFacts& facts, const KernelConfig& config);
// The same with the problem as the kernel sees it, by callers that have it.
const char* rejects(const Problem& given, const Problem& seen, const DeviceFacts& facts,
                    const KernelConfig& config);

}  // namespace bwgemm
