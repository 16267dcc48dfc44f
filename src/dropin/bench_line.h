// SPDX-License-Identifier: Apache-2.0
// The bwgemm_bench command that repeats a call.
#pragma once

#include <string>

#include "dropin/call.h"

namespace bwgemm::dropin {

std::string bench_line(const Call& call, const CallSettings& settings);

}  // namespace bwgemm::dropin
