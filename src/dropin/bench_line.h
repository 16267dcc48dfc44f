// SPDX-License-Identifier: Apache-2.0
// The bwgemm_bench command of the sizes and types of a call. A call with arrays of pointers becomes
// a strided batch, with a note that the shell ignores.
#pragma once

#include <string>

#include "dropin/call.h"

namespace bwgemm::dropin {

std::string bench_line(const Call& call, const CallSettings& settings);

}  // namespace bwgemm::dropin
