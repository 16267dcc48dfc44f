// SPDX-License-Identifier: Apache-2.0
// Why a Hopper kernel cannot serve a problem: see rules/family.h.
#pragma once

#include "rules/rejects.h"

namespace bwgemm::sm90 {

const char* rejects(const Problem& problem, const KernelConfig& config, const Texts& texts);

}  // namespace bwgemm::sm90
