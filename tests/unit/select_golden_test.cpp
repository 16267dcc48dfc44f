// SPDX-License-Identifier: Apache-2.0
// Which kernel is chosen for which problem: one line per case, every family and path of data chosen
// at least once. A change of the cost model that moves a line is a decision to be reviewed here.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "families/variants.h"
#include "problems.h"
#include "select/select.h"

namespace bwgemm {
namespace {

using test::kk, test::kn, test::mk, test::mn;

constexpr test::Types bf16{Dtype::bf16, Dtype::bf16}, f16{Dtype::f16, Dtype::f16};
constexpr test::Types bf16_f32{Dtype::bf16, Dtype::f32}, f16_f32{Dtype::f16, Dtype::f32};

struct Golden {
  DeviceFacts facts;
  std::int64_t m, n, k, batch;
  test::Types types;
  test::Majors majors;
  const char* kernel;
};

// clang-format off
constexpr DeviceFacts h200 = nominal_h200, b200 = nominal_b200;
const Golden golden[] = {
    // device      m      n      k  batch  types    majors  kernel
    {h200,   4096,  4096,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop"},
    {h200,   4096,  4096,  4096,   1, bf16,     kn, "bwgemm_sm90_b16_kn_128x256x64_s4_coop"},
    {h200,   4096,  4096,  4096,   1, bf16,     mk, "bwgemm_sm90_b16_mk_128x256x64_s4_coop"},
    {h200,   4096,  4096,  4096,   1, bf16,     mn, "bwgemm_sm90_b16_mn_128x256x64_2x1_s4_coop"},
    {h200,   4096,  4096,  4096,   1, f16,      kk, "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop"},
    {h200,   4096,  4096,  4096,   1, f16,      kn, "bwgemm_sm90_b16_kn_128x256x64_s4_coop"},
    {h200,   4096,  4096,  4096,   1, f16,      mk, "bwgemm_sm90_b16_mk_128x256x64_s4_coop"},
    {h200,   4096,  4096,  4096,   1, f16,      mn, "bwgemm_sm90_b16_mn_128x256x64_2x1_s4_coop"},
    {h200,   1024, 50257,   768,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop"},
    {h200,     16, 50257,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x16x64_s8_t_coop"},
    {h200,    448,  1001,  2048,   1, f16,      kk, "bwgemm_sm90_b16_kk_64x64x64_s13_coop"},
    {h200,    512,   512,   512,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x32x64_s13_t_coop"},
    {h200,    512,   512,   512,   1, bf16,     kn, "bwgemm_sm90_b16_mk_64x32x64_1x2_s13_t_coop"},
    {h200,    512,   512,   512,   1, bf16,     mk, "bwgemm_sm90_b16_kn_64x64x64_s13_t_coop"},
    {h200,    512,   512,   512,   1, bf16,     mn, "bwgemm_sm90_b16_mn_64x64x64_s13_t_coop"},
    {h200,    512,   512,   512,   1, f16,      kk, "bwgemm_sm90_b16_kk_64x32x64_s13_t_coop"},
    {h200,    512,   512,   512,   1, f16,      kn, "bwgemm_sm90_b16_mk_64x32x64_1x2_s13_t_coop"},
    {h200,    512,   512,   512,   1, f16,      mk, "bwgemm_sm90_b16_kn_64x64x64_s13_t_coop"},
    {h200,    512,   512,   512,   1, f16,      mn, "bwgemm_sm90_b16_mn_64x64x64_s13_t_coop"},
    {h200,    512,  4096,  4096,   1, bf16,     kn, "bwgemm_sm90_b16_mk_128x128x64_s6_t_coop"},
    {h200,    512,  4096,  4096,   1, bf16,     mk, "bwgemm_sm90_b16_kn_128x128x64_s6_t_coop"},
    {h200,    512,  4096,  4096,   1, bf16,     mn, "bwgemm_sm90_b16_mn_128x128x64_s6_t_coop"},
    {h200,    512,  4096,  4096,   1, f16,      kk, "bwgemm_sm90_b16_kk_128x128x64_s6_t_coop"},
    {h200,    512,  4096,  4096,   1, f16,      kn, "bwgemm_sm90_b16_mk_128x128x64_s6_t_coop"},
    {h200,    512,  4096,  4096,   1, f16,      mk, "bwgemm_sm90_b16_kn_128x128x64_s6_t_coop"},
    {h200,    512,  4096,  4096,   1, f16,      mn, "bwgemm_sm90_b16_mn_128x128x64_s6_t_coop"},
    {h200,   3072,  3072,  3072,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x64x64_s8_t_coop"},
    {h200,   3072,  3072,  3072,   1, bf16,     kn, "bwgemm_sm90_b16_kn_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, bf16,     kn, "bwgemm_sm90_b16_mk_128x64x64_s8_t_coop"},
    {h200,   3072,  3072,  3072,   1, bf16,     mk, "bwgemm_sm90_b16_mk_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, bf16,     mk, "bwgemm_sm90_b16_mk_128x64x64_s8_coop"},
    {h200,   3072,  3072,  3072,   1, bf16,     mn, "bwgemm_sm90_b16_mn_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, bf16,     mn, "bwgemm_sm90_b16_mn_128x64x64_s8_coop"},
    {h200,   3072,  3072,  3072,   1, f16,      kk, "bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, f16,      kk, "bwgemm_sm90_b16_kk_128x64x64_s8_t_coop"},
    {h200,   3072,  3072,  3072,   1, f16,      kn, "bwgemm_sm90_b16_kn_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, f16,      kn, "bwgemm_sm90_b16_mk_128x64x64_s8_t_coop"},
    {h200,   3072,  3072,  3072,   1, f16,      mk, "bwgemm_sm90_b16_mk_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, f16,      mk, "bwgemm_sm90_b16_mk_128x64x64_s8_coop"},
    {h200,   3072,  3072,  3072,   1, f16,      mn, "bwgemm_sm90_b16_mn_128x192x64_s4_pp_coop"},
    {h200,    256,  4096,  4096,   1, f16,      mn, "bwgemm_sm90_b16_mn_128x64x64_s8_coop"},
    {h200,   1024,  1024,  1024,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x64x64_s8_t_coop"},
    {h200,   2048,  2048,  2048,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop"},
    {h200,   8192,  8192,  8192,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"},
    {h200,   4096,  4096,  4096,   1, bf16_f32, kk, "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop"},
    {h200,    512,   512,   512,   1, f16_f32,  mn, "bwgemm_sm90_b16_mn_64x32x64_s13_t_coop"},
    {h200,      1,  6144,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x64x64_s13_coop"},
    {h200,     64, 28672,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x128x64_s8_coop"},
    {h200,    512,  4096,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x128x64_s6_t_coop"},
    {h200,   8192,  8192,   128,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"},
    {h200,    256,   256, 65536,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x88x64_s11_t_coop"},
    {h200,    128,   128,    64, 512, bf16,     kk, "bwgemm_sm90_b16_kk_64x128x64_s4_o2_coop"},
    {h200,   1024,  1024,   128,  64, bf16,     kk, "bwgemm_sm90_b16_kk_128x128x64_s6_pp_coop"},
    {h200,   4093,  4091,  4099,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x256x64_s4_u_coop"},
    {h200,   2072,  2072,  2072,   1, bf16,     kn, "bwgemm_sm90_b16_kn_192x192x64_1x2_s4_coop"},
    {h200,    264,  7584,  5080,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x160x64_4x2_s5_t_coop"},
    {h200,   1000,  1000,  1000,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x96x64_2x2_s7_coop"},
    {h200,   4872,   384,  5144,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x96x64_2x2_s7_coop"},
    {h200,    360,   384,  6056,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x64x64_2x2_s13_coop"},
    {h200,   3424,   392,  1368,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x128x64_1x4_s6_pp_coop"},
    {h200,   2048, 10576,  2560,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x144x64_s5_pp_coop"},
    {h200,    512,  9216,  3072,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x144x64_s5_pp_coop"},
    {h200,    816,  5440,  4832,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x136x64_s6_t_coop"},
    {h200,   2048, 28672,  4096,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x176x64_s5_pp_coop"},
    {h200,   1000,  3072,   768,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x192x64_s4_pp_coop"},
    {h200,    128,  4672,  4544,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x96x64_s10_coop"},
    {h200,    168,   136, 20328,   1, bf16,     kk, "bwgemm_sm90_b16_kk_64x64x64_1x4_s13_coop"},
    {h200,    424,  6272,  7168,   1, bf16,     kk, "bwgemm_sm90_b16_kk_192x112x64_s5_t_coop"},
    {h200,    314,  6144,  6144,   1, f16,      kn, "bwgemm_sm90_b16_mk_192x80x64_s6_t_coop"},
    {h200,      7,     5,     3,   1, f16_f32,  mn, "bwgemm_sm90_b16_16x16x16_warp"},
    {h200,     47,    47,    13,  96, bf16,     kk, "bwgemm_sm90_b16_16x16x16_warp"},
    {h200,   4096,  4096,     0,   1, bf16,     kk, "bwgemm_sm90_b16_16x16x16_warp"},
    {h200,    883,   128,   883,  41, bf16,     kn, "bwgemm_sm90_b16_kn_64x128x64_s3_o2_l_coop"},
    {h200,    127,    96,   127,  24, bf16,     kn, "bwgemm_sm90_b16_kn_64x32x64_s3_o4_l_coop"},
    {h200,   1046,    16,    30, 200, bf16,     kn, "bwgemm_sm90_b16_64x32x32_stationary"},
    {h200,    217,    64,   217,  48, bf16,     mn, "bwgemm_sm90_b16_64x64x32_direct"},
    {h200,    173,    54,   146,  64, bf16,     kn, "bwgemm_sm90_b16_64x64x32_direct"},
    {h200,   1076,   883,    66,   1, bf16,     mk, "bwgemm_sm90_b16_64x64x32_direct"},
    {h200, 123513,    24,   117,   1, bf16,     kk, "bwgemm_sm90_b16_64x32x32_stationary"},
    {h200,     32, 87072,    72,   1, f16,      kk, "bwgemm_sm90_b16_kk_64x256x64_1x4_s4_pp_coop"},
    {h200,     24, 192312,  120,   1, bf16,     mn, "bwgemm_sm90_b16_mn_64x256x64_1x4_s4_pp_coop"},
    {h200,  59176,    40,   112,   1, f16,      mn, "bwgemm_sm90_b16_mn_256x64x64_4x1_s4_coop"},
    {h200,  86736,    40,    64,   1, bf16,     kn, "bwgemm_sm90_b16_kn_256x64x64_4x1_s4_coop"},
    {h200,     24, 11616,   256,   1, f16,      mn, "bwgemm_sm90_b16_mn_128x32x64_4x1_s8_t_coop"},
    {h200,  12856,     8,   144,   1, f16,      mn, "bwgemm_sm90_b16_mn_128x64x64_4x1_s8_coop"},
    {h200,     56,  1848, 57920,   1, bf16,     mn, "bwgemm_sm90_b16_mn_64x64x64_4x1_s13_t_coop"},
    {h200,    688,   360, 27016,   1, bf16,     kk, "bwgemm_sm90_b16_kk_128x96x64_2x2_s7_coop"},
    {h200,    288,   240, 31704,   1, bf16,     kn, "bwgemm_sm90_b16_mk_64x96x64_4x1_s10_t_coop"},
    {h200,    200,   568, 22432,   1, bf16,     kn, "bwgemm_sm90_b16_kn_128x64x64_2x2_s8_coop"},
    {h200,      1,   896,  3584,   1, bf16,     kk, "bwgemm_sm90_b16_1x4x2048_dot"},
    {h200,  20904,    24,    24,   1, bf16,     kk, "bwgemm_sm90_b16_64x32x32_w_stationary"},
    {h200,  30755,    48,    24,   1, bf16,     kk, "bwgemm_sm90_b16_64x64x32_w_stationary"},
    {h200,      1,    64,  8192,   1, bf16,     kk, "bwgemm_sm90_b16_1x1x2048_dot"},
    {h200,      1,     1, 65536,   1, bf16,     kk, "bwgemm_sm90_b16_1x1x2048_dot"},
    {h200,      1,  1024,  2048,   1, bf16,     kk, "bwgemm_sm90_b16_1x4x2048_dot"},
    {h200,      1,   256,  4096,   1, bf16,     kn, "bwgemm_sm90_b16_mk_64x16x64_s13_t_coop"},
    {h200,      4,  1024,   256,   1, f16,      kk, "bwgemm_sm90_b16_kk_64x16x64_s13_t_coop"},
    {h200,      1,  1024,  1024,  16, f16,      kn, "bwgemm_sm90_b16_mk_128x16x64_s8_t_coop"},
    {b200,   4096,  4096,  4096,   1, bf16,     kk, "bwgemm_sm100_b16_256xNx64_2x1_pair"},
    {b200,   4096,  4096,  4096,   1, f16,      mn, "bwgemm_sm100_b16_256xNx64_2x1_pair"},
    {b200,    512,   512,   512,   1, bf16_f32, kn, "bwgemm_sm100_b16_128xNx64_t_single"},
    {b200,    512,   512,   512,   1, bf16,     kk, "bwgemm_sm100_b16_128xNx64_single"},
    {b200,      1,  6144,  4096,   1, bf16,     kk, "bwgemm_sm100_b16_128xNx64_t_single"},
    {b200,     64,  4096,  4096,   1, bf16,     kk, "bwgemm_sm100_b16_128xNx64_t_single"},
    {b200,    128,   128,    64, 512, bf16,     kk, "bwgemm_sm100_b16_128xNx64_single"},
    {b200,    128,   252,   512, 100, bf16,     kk, "bwgemm_sm100_b16_128xNx64_u_single"},
    {b200,   4096,  4092,  4096,   1, bf16,     kk, "bwgemm_sm100_b16_256xNx64_2x1_u_pair"},
    {b200,    256,   256, 65536,   1, bf16,     kk, "bwgemm_sm100_b16_256xNx64_2x1_pair"},
    {b200,   1024,  1024,   128,  64, f16,      mk, "bwgemm_sm100_b16_256xNx64_2x1_pair"},
    {b200,   4093,  4091,  4099,   1, bf16,     kk, "bwgemm_sm100_b16_128xNx64_u_single"},
    {b200,      7,     5,     3,   1, f16,      kn, "bwgemm_sm100_b16_16x16x16_warp"},
    {b200,      1,  4096,  4096,   1, bf16,     kk, "bwgemm_sm100_b16_8x16x1024_dot"},
    {b200,      7,   501,  1003,   1, f16,      kk, "bwgemm_sm100_b16_8x16x1024_dot"},
    {b200,   4096,  4096,     0,   1, bf16,     kk, "bwgemm_sm100_b16_16x16x16_warp"},
    {b200,     62,    72,    62, 188, bf16,     kn, "bwgemm_sm100_b16_128xNx64_u_single"},
    {b200,     52,    52,    80, 173, bf16,     kk, "bwgemm_sm100_b16_128xNx64_u_single"},
    {b200,    184,   250,  1417,   1, bf16,     kk, "bwgemm_sm100_b16_64x64x32_direct"},
    {b200,   2616,   184,   158,   1, bf16,     kk, "bwgemm_sm100_b16_64x32x32_stationary"},
};
// clang-format on

std::string chosen(const Golden& line) {
  const Problem problem =
      test::problem_of(line.m, line.n, line.k, line.majors, line.types, line.batch);
  SelectOptions options;
  options.workspace_bytes = 32 << 20;
  const Choice choice = select(problem, line.facts, kernel_variants, options);
  return std::string(kernel_name(kernel_variants[static_cast<std::size_t>(choice.variant)]).view());
}

TEST(SelectGolden, ChoosesTheKernelOfTheLine) {
  for (const Golden& line : golden)
    EXPECT_EQ(chosen(line), line.kernel)
        << line.m << "x" << line.n << "x" << line.k << " batch " << line.batch << " "
        << name(line.types.input) << ">" << name(line.types.output);
}

// Of a table this long most rows are for sizes, types and majors that no line names; but no family
// and no path of data may have died out.
TEST(SelectGolden, EveryFamilyAndPathIsChosenByALine) {
  std::set<std::string> chosen_kernels;
  for (const Golden& line : golden) chosen_kernels.insert(chosen(line));
  const auto is_chosen = [&](const KernelConfig& like) {
    return std::any_of(kernel_variants.begin(), kernel_variants.end(),
                       [&](const KernelConfig& row) {
                         return row.arch == like.arch && row.family == like.family &&
                                paths_of(row) == paths_of(like) &&
                                chosen_kernels.contains(std::string(kernel_name(row).view()));
                       });
  };
  for (const KernelConfig& row : kernel_variants)
    EXPECT_TRUE(is_chosen(row)) << "no golden line chooses a kernel like "
                                << kernel_name(row).view();
}

// Decode: with a gate as without, weights lie along the tile's rows.
TEST(SelectGolden, GatesOfFewRowsAreServedInColumns) {
  for (const std::int64_t m : {1, 2, 8, 9, 16, 24, 32})
    for (const Gate gate : {Gate::interleaved, Gate::stacked}) {
      Problem problem = test::problem_of(m, 28672, 4096, kk, bf16);
      problem.epilogue.gate = gate;
      problem.epilogue.activation = Activation::silu;
      problem.d.ld = problem.c.ld = 14336;
      const Choice choice = select(problem, nominal_h200, kernel_variants, {});
      const KernelConfig& row = kernel_variants[static_cast<std::size_t>(choice.variant)];
      EXPECT_TRUE(row.swaps_ab) << m << ": " << kernel_name(row).view();
    }
}

// With a gate as without: products that fill the device go to pairs, whatever the direction of B.
TEST(SelectGolden, GatesOfBlackwellRunInTensorMemory) {
  const auto family = [](std::int64_t m, std::int64_t n, Gate gate, test::Majors majors) {
    Problem problem = test::problem_of(m, n, 4096, majors, bf16);
    problem.epilogue.gate = gate;
    problem.epilogue.activation = Activation::silu;
    problem.d.ld = problem.c.ld = n / 2;
    const Choice choice = select(problem, nominal_b200, kernel_variants, {});
    return kernel_variants[static_cast<std::size_t>(choice.variant)].family;
  };
  for (const Gate gate : {Gate::interleaved, Gate::stacked})
    for (const test::Majors& majors : {kk, kn, mk, mn}) {
      for (const std::int64_t m : {512, 4096, 8192})
        EXPECT_EQ(family(m, 28672, gate, majors), Family::pair) << m;
      EXPECT_EQ(family(4096, 28676, gate, kk), Family::pair) << "rows of D end inside of 16 bytes";
      EXPECT_EQ(family(64, 28672, gate, majors), Family::single);
    }
}

// The run-time tile: as wide as keeps all multiprocessors busy; at 4096 seven waves of 128 columns
// are full, four of 256 are not; at 2048 there is one wave of 72 tiles, or of 64.
TEST(SelectGolden, ChoosesTheRunTimeTile) {
  const auto tile_n = [](std::int64_t m, std::int64_t n, std::int64_t k, test::Majors majors) {
    return select(test::problem_of(m, n, k, majors), nominal_b200, kernel_variants, {}).tile_n;
  };
  EXPECT_EQ(tile_n(8192, 8192, 8192, kk), 256);
  EXPECT_EQ(tile_n(4096, 4096, 4096, kk), 128);
  EXPECT_EQ(tile_n(2048, 2048, 2048, kk), 240);
  EXPECT_EQ(tile_n(1024, 1024, 1024, kk), 64);
  EXPECT_EQ(tile_n(1024, 1024, 1024, kn), 64);  // N-major B: chunks of 64 per CTA
  EXPECT_EQ(tile_n(256, 32, 4096, kk), 32);
}

}  // namespace
}  // namespace bwgemm
