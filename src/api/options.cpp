// SPDX-License-Identifier: Apache-2.0
#include "api/options.h"

#include <cstdlib>
#include <sys/auxv.h>

namespace bwgemm {

std::string option_value(Option option) {
  const OptionRow& row = option_rows[static_cast<std::size_t>(option)];
  if (getauxval(AT_SECURE) != 0) return row.fallback;
  const char* value = std::getenv(row.variable);
  return value != nullptr && *value != '\0' ? value : row.fallback;
}

}  // namespace bwgemm
