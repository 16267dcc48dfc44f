// SPDX-License-Identifier: Apache-2.0
// Cases as text, one line that can be pasted back, and what is simpler than a case.
#pragma once

#include <string>
#include <vector>

#include "case.h"

namespace bwgemm::fuzz {

std::string to_text(const Case& item);

// Throws std::runtime_error naming the word that is not understood. The result is normalised.
Case from_text(const std::string& text);

// Every case that differs from this one by one thing and is simpler; the boldest steps first.
std::vector<Case> simpler(const Case& item);

}  // namespace bwgemm::fuzz
