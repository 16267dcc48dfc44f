// SPDX-License-Identifier: Apache-2.0
// The parameters of a Hopper kernel: its tensor maps, and how D leaves.
#pragma once

#include "rules/family.h"

namespace bwgemm::sm90 {

void fill(const Filling& filling);

}  // namespace bwgemm::sm90
