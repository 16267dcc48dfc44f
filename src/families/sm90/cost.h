// SPDX-License-Identifier: Apache-2.0
// The predicted time of a Hopper kernel: a part of the model described in families/cost.h.
#pragma once

#include "rules/family.h"

namespace bwgemm::sm90 {

double predicted_us(const Prediction& of);

}  // namespace bwgemm::sm90
