// SPDX-License-Identifier: Apache-2.0
// Shrinking: from a case that fails to a simpler one that fails, each tried in a process of its
// own, because a failure may leave nothing of its process to go on with.
#pragma once

#include <string>

#include "case.h"

namespace bwgemm::fuzz {

// `self_test`: the word of --self-test, or empty.
Case shrunk(Case item, const std::string& self_test);

}  // namespace bwgemm::fuzz
