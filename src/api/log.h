// SPDX-License-Identifier: Apache-2.0
// The log: lines to standard error or BWGEMM_LOG_FILE, off unless BWGEMM_LOG_LEVEL says otherwise.
// Level and file are read at the first use.
#pragma once

#include <string_view>

namespace bwgemm {

enum class Level { off, error, warning, info, debug, trace };

// Whether lines of this level are written: ask before composing one.
bool logs(Level level) noexcept;

// Never throws; a line that cannot be written is lost.
void log(Level level, std::string_view line) noexcept;

}  // namespace bwgemm
