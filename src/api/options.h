// SPDX-License-Identifier: Apache-2.0
// The environment variables that the library reads, in one table. Programs that run with more
// rights than their user (AT_SECURE) do not obey them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "bwgemm/bwgemm.h"
#include "rules/choice.h"

namespace bwgemm {

enum class Option {
  libcuda,
  log_level,
  log_file,
  force_kernel,
  force_splits,
  force_tile_n,
  force_raster,
  force_sums,
  force_operands,
  tuning_cache,
  tune,
  programmatic_launch
};

struct OptionRow {
  Option option;
  const char* variable;
  const char* fallback;  // where the variable is not set, or empty
  const char* meaning;
};

inline constexpr std::array option_rows = {
    OptionRow{Option::libcuda, "BWGEMM_LIBCUDA", "libcuda.so.1",
              "the CUDA driver library; read until a bwgemmCreate has opened one"},
    OptionRow{Option::log_level, "BWGEMM_LOG_LEVEL", "off",
              "off, error, warning, info (the bwgemm_bench command of every call), debug or trace; "
              "read once"},
    OptionRow{Option::log_file, "BWGEMM_LOG_FILE", "",
              "a file to append the log to; default: standard error; read once"},
    OptionRow{Option::force_kernel, "BWGEMM_FORCE_KERNEL", "",
              "the kernel to use, whatever selection would choose; read by bwgemmCreate"},
    OptionRow{Option::force_splits, "BWGEMM_FORCE_SPLITS", "",
              "the splits of k to use where the kernel can split it; read by bwgemmCreate"},
    OptionRow{
        Option::force_tile_n, "BWGEMM_FORCE_TILE_N", "",
        "the tile's columns where the kernel leaves them to the launch; read by bwgemmCreate"},
    OptionRow{Option::force_raster, "BWGEMM_FORCE_RASTER", "",
              "grouped, snake or hilbert: the order of tiles where the kernel has several; read by "
              "bwgemmCreate"},
    OptionRow{Option::force_sums, "BWGEMM_FORCE_SUMS", "",
              "memory or cluster: where splits of k are added, if both are possible; read by "
              "bwgemmCreate"},
    OptionRow{
        Option::force_operands, "BWGEMM_FORCE_OPERANDS", "",
        "in_place, copied, copied_a or copied_b: whether operands that TMA cannot load, or one "
        "of two, of the row-order product, are copied first, if they can be; read by "
        "bwgemmCreate"},
    OptionRow{Option::tuning_cache, "BWGEMM_TUNING_CACHE", "",
              "a file for results of autotuning, as bwgemmSetTuningCache; read by bwgemmCreate"},
    OptionRow{Option::tune, "BWGEMM_TUNE", "off",
              "1: the first call of a kind measures, as bwgemmSetTuneMode; frozen: nothing is "
              "measured, and the tuning cache's file only read; read by bwgemmCreate"},
    OptionRow{Option::programmatic_launch, "BWGEMM_PROGRAMMATIC_LAUNCH", "auto",
              "0, 1 or auto: whether kernels may start during the tail of the preceding kernel, as "
              "bwgemmSetProgrammaticLaunch; read by bwgemmCreate"},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < option_rows.size(); ++i)
    if (option_rows[i].option != static_cast<Option>(i)) return false;
  return true;
}
static_assert(rows_are_in_order(), "option_rows must be in the order of Option");

// The variable's value as it is now, or the fallback.
std::string option_value(Option option);

// What the variables BWGEMM_FORCE_* say. `kernel` is the value of the first, which the result
// refers to; values that mean nothing force nothing.
ForcedRecipe forced_recipe(std::string_view kernel);

// The same as whether calls tune; off if it names no mode.
bwgemmTuneMode_t tune_option(Option option);

// The settings of bwgemmSetProgrammaticLaunch besides 0, and the one that the variable names:
// where_faster, if the variable is neither 0 nor 1.
inline constexpr int programmatic_launch_always = 1, programmatic_launch_where_faster = -1;
int programmatic_launch_option(Option option);

}  // namespace bwgemm
