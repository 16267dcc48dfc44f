// SPDX-License-Identifier: Apache-2.0
// The table of kernels. One row is one compiled kernel, one candidate of selection, one parameter
// of the tests and of the benchmark, and one name. To add kernels, add a row or a shape; nothing
// else lists kernels.
#pragma once

#include <array>

#include "core/kernel_config.h"
#include "kernels/layout.h"

namespace bwgemm {

constexpr const char* invalid_because(const KernelConfig& config) {
  switch (config.family) {
    case Family::cooperative: return sm90::invalid_because(config);
    case Family::pair: return sm100::invalid_because(config);
    case Family::direct: return direct::invalid_because(config);
    case Family::dot: return dot::invalid_because(config);
  }
  return "unknown family";
}

// What a row of sm90 fixes besides type and majors, which the instruction fixes too. The ring is as
// deep as shared memory allows.
struct Sm90Shape {
  Output output;
  Tile tile;
  Cluster cluster;
  int ctas_per_sm;
};

// clang-format off
inline constexpr std::array sm90_shapes = {
    //        output            tile m,n,k      cluster CTAs per SM
    Sm90Shape{Output::rows,    {128, 256, 64}, {2, 1}, 1},
    Sm90Shape{Output::rows,    {128, 256, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128, 224, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128, 192, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128, 192, 64}, {2, 1}, 1},
    Sm90Shape{Output::rows,    {128, 160, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128, 128, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128, 128, 64}, {2, 1}, 1},
    Sm90Shape{Output::rows,    {128, 128, 64}, {1, 2}, 1},
    Sm90Shape{Output::rows,    {128,  96, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128,  64, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128,  64, 64}, {1, 2}, 1},
    Sm90Shape{Output::rows,    {256, 128, 64}, {1, 2}, 1},
    Sm90Shape{Output::rows,    {256, 128, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {256, 160, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {256, 192, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {192, 192, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {192, 128, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    { 64, 256, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    { 64, 128, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    { 64,  64, 64}, {1, 1}, 1},
    Sm90Shape{Output::rows,    {128, 128, 64}, {1, 1}, 2},
    Sm90Shape{Output::rows,    {128,  64, 64}, {1, 1}, 2},
    Sm90Shape{Output::rows,    { 64, 128, 64}, {1, 1}, 2},
    Sm90Shape{Output::rows,    { 64,  64, 64}, {1, 1}, 2},
    Sm90Shape{Output::rows,    { 64,  64, 64}, {1, 1}, 3},
    Sm90Shape{Output::columns, { 64,   8, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, { 64,  16, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, { 64,  32, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, { 64,  64, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, {128,  16, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, {128,  32, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, {128,  64, 64}, {1, 1}, 1},
    Sm90Shape{Output::columns, {128, 128, 64}, {1, 1}, 1},
    Sm90Shape{Output::scattered, {128, 256, 64}, {1, 1}, 1},
    Sm90Shape{Output::scattered, {128, 128, 64}, {1, 1}, 1},
};

inline constexpr std::array other_rows = {
    //           arch         family          input         a           b           tile m,n,k     cluster stages output     CTAs per SM
    KernelConfig{Arch::sm90,  Family::direct, Input::any16, Major::any, Major::any, {64, 64, 32},  {1, 1}, 0, Output::scattered, 4},
    KernelConfig{Arch::sm90,  Family::dot,    Input::any16, Major::any, Major::k,   {8, 16, 1024}, {1, 1}, 0, Output::scattered, 2},
    KernelConfig{Arch::sm90,  Family::dot,    Input::any16, Major::any, Major::mn,  {8, 64, 256},  {1, 1}, 0, Output::scattered, 2},
    KernelConfig{Arch::sm100, Family::pair,   Input::any16, Major::any, Major::any, {256, 0, 64},  {2, 1}, 0, Output::rows,      1},
    KernelConfig{Arch::sm100, Family::direct, Input::any16, Major::any, Major::any, {64, 64, 32},  {1, 1}, 0, Output::scattered, 4},
    KernelConfig{Arch::sm100, Family::dot,    Input::any16, Major::any, Major::k,   {8, 16, 1024}, {1, 1}, 0, Output::scattered, 2},
    KernelConfig{Arch::sm100, Family::dot,    Input::any16, Major::any, Major::mn,  {8, 64, 256},  {1, 1}, 0, Output::scattered, 2},
};
// clang-format on

// A shape's kernels: every input type, every pair of majors that the family allows for it.
constexpr KernelConfig sm90_row(const Sm90Shape& shape, int variant) {
  KernelConfig row{Arch::sm90,
                   Family::cooperative,
                   variant & 4 ? Input::f16 : Input::bf16,
                   variant & 2 ? Major::mn : Major::k,
                   variant & 1 ? Major::mn : Major::k,
                   shape.tile,
                   shape.cluster,
                   0,
                   shape.output,
                   shape.ctas_per_sm};
  row.stages = sm90::stages_that_fit(row);
  return row;
}
inline constexpr int sm90_variants = 8;

constexpr std::size_t count_sm90_rows() {
  std::size_t rows = 0;
  for (const Sm90Shape& shape : sm90_shapes)
    for (int variant = 0; variant < sm90_variants; ++variant)
      if (invalid_because(sm90_row(shape, variant)) == nullptr) ++rows;
  return rows;
}

constexpr auto make_rows() {
  std::array<KernelConfig, count_sm90_rows() + other_rows.size()> rows{};
  std::size_t count = 0;
  for (const Sm90Shape& shape : sm90_shapes)
    for (int variant = 0; variant < sm90_variants; ++variant)
      if (invalid_because(sm90_row(shape, variant)) == nullptr)
        rows[count++] = sm90_row(shape, variant);
  for (const KernelConfig& row : other_rows) rows[count++] = row;
  return rows;
}

inline constexpr auto kernel_rows = make_rows();

// K-major operands are the least demanding.
constexpr bool all_shapes_used() {
  for (const Sm90Shape& shape : sm90_shapes)
    if (invalid_because(sm90_row(shape, 0)) != nullptr) return false;
  return true;
}

constexpr bool all_valid() {
  for (const KernelConfig& row : kernel_rows)
    if (invalid_because(row) != nullptr) return false;
  return true;
}

constexpr bool all_distinct() {
  for (std::size_t i = 0; i < kernel_rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kernel_rows[i] == kernel_rows[j]) return false;
  return true;
}

static_assert(all_shapes_used(), "a shape of sm90_shapes breaks a rule of sm90::invalid_because()");
static_assert(all_valid(), "a row of kernel_rows breaks a rule of its family's invalid_because()");
static_assert(all_distinct(), "two rows of kernel_rows are the same kernel");

}  // namespace bwgemm
