// SPDX-License-Identifier: Apache-2.0
#include "api/options.h"

#include <charconv>
#include <cstdlib>
#include <sys/auxv.h>

#include "core/named.h"

namespace bwgemm {
namespace {

// 0 if it is none or not positive.
int number_option(Option option) {
  const std::string text = option_value(option);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && *end == '\0' && number > 0 ? number : 0;
}

}  // namespace

std::string option_value(Option option) {
  const OptionRow& row = option_rows[static_cast<std::size_t>(option)];
  if (getauxval(AT_SECURE) != 0) return row.fallback;
  const char* value = std::getenv(row.variable);
  return value != nullptr && *value != '\0' ? value : row.fallback;
}

ForcedRecipe forced_recipe(std::string_view kernel) {
  const auto rasters = {Raster::grouped, Raster::snake, Raster::hilbert};
  const auto reductions = {SplitReduction::workspace, SplitReduction::cluster};
  return {kernel,
          number_option(Option::force_splits),
          number_option(Option::force_tile_n),
          named(option_value(Option::force_raster), rasters),
          named(option_value(Option::force_sums), reductions),
          named(option_value(Option::force_operands), all_operands)};
}

bwgemmTuneMode_t tune_option(Option option) {
  const std::string mode = option_value(option);
  return mode == "1" ? BWGEMM_TUNE_ON : mode == "frozen" ? BWGEMM_TUNE_FROZEN : BWGEMM_TUNE_OFF;
}

int programmatic_launch_option(Option option) {
  const std::string setting = option_value(option);
  return setting == "0"   ? 0
         : setting == "1" ? programmatic_launch_always
                          : programmatic_launch_where_faster;
}

}  // namespace bwgemm
