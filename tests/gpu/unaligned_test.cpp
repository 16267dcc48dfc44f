// SPDX-License-Identifier: Apache-2.0
// The kernels that load what TMA cannot address of A and B, forced: every start of every operand in
// its 16 bytes, with leading dimensions of every residue, in all majors and types of output. Around
// and between the elements of A, B and C lies NaN, which must be neither read into a result nor
// overwritten.
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "families/facts.h"
#include "families/variants.h"
#include "gpu/row_classes.h"
#include "gpu/row_problems.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

// What the launch chooses is chosen here: as many directions of A and B as the row has, with tiles
// in which a step of threads that load is whole, or ends in its middle.
std::vector<KernelConfig> with_choices(const KernelConfig& row) {
  constexpr std::array tiles_n = {160, 64, 32, 192};
  std::vector<KernelConfig> all;
  for (const Major a : majors(row.a))
    for (const Major b : majors(row.b)) {
      KernelConfig& one = all.emplace_back(row);
      one.a = a;
      one.b = b;
      if (row.tile.n == 0) one.tile.n = tiles_n[all.size() - 1];
      one.stages = kernel_shape(row, one.tile.n, Dtype::bf16).stages;
    }
  return all;
}

class Unaligned : public GpuTest {
 protected:
  // Runs problem(row, i) on a handle that has nothing but the row; `splits` may be empty. Of rows
  // of a class, which differ in constants, the one with the smallest tile where time is scarce.
  template <class MakeProblem>
  static void run_rows(int problems, const char* splits, const MakeProblem& make_problem) {
    const bool is_hopper = device_arch() == Arch::sm90;
    for (const KernelConfig& row : kernel_variants) {
      if (!moves_lines(row) || (row.arch == Arch::sm90) != is_hopper) continue;
      if (small_scale() && !is_representative(row)) continue;
      for (const KernelConfig& chosen : with_choices(row))
        run_row(row, chosen, problems, splits, make_problem);
    }
  }

  template <class MakeProblem>
  static void run_row(const KernelConfig& row, const KernelConfig& chosen, int problems,
                      const char* splits, const MakeProblem& make_problem) {
    const std::string name(kernel_name(row).view());
    SCOPED_TRACE(name);
    const Variable kernel("BWGEMM_FORCE_KERNEL", name);
    const Variable forced_splits("BWGEMM_FORCE_SPLITS", splits);
    const Variable tile("BWGEMM_FORCE_TILE_N",
                        row.tile.n == 0 ? std::to_string(chosen.tile.n) : "");
    const Handle handle;
    const std::vector<Dtype> types = inputs(row.mma);
    for (int i = 0; i < problems && !HasFailure(); ++i) {
      GemmCase gemm = make_problem(chosen, i);
      gemm.input = types[static_cast<std::size_t>(i / 2) % types.size()];
      gemm.output = i % 2 == 0 ? gemm.input : Dtype::f32;
      gemm.seed = static_cast<std::uint64_t>(i + 1);
      run(handle.get(), gemm);
    }
  }

  static GemmCase of(const KernelConfig& row, std::int64_t m, std::int64_t n, std::int64_t k) {
    GemmCase gemm = gemm_of(row, m, n, k, row.a, row.b);
    gemm.fill = Fill::integers;
    return gemm;
  }

  // Starts and leading dimensions that meet every pair of residues within 64 problems.
  static void displace(GemmCase& gemm, int i) {
    gemm.a_displacement = i % 8;
    gemm.b_displacement = (i + i / 8) % 8;
    gemm.c_displacement = (3 * i + 1) % 8;
    gemm.lda_extra = i / 8 % 8;
    gemm.ldb_extra = (5 * i + 2) % 8;
    gemm.ldc_extra = (i / 2) % 8;
  }
};

TEST_F(Unaligned, EveryStartAndEveryLeadingDimension) {
  run_rows(64, "", [](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, row.tile.m - 8 + i % 8, row.tile.n - 4 + i / 8, 57 + 3 * (i % 24));
    displace(gemm, i);
    if (i % 4 >= 2) {
      gemm.alpha = -0.5f;
      gemm.beta = 2;
    } else {
      gemm.fill_c = Fill::poison;
    }
    return gemm;
  });
}

// One operand at a time is where TMA can address it.
TEST_F(Unaligned, OneOperandOnly) {
  run_rows(8, "", [](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, row.tile.m + 8, 72, 136);
    gemm.ld_multiple = 8;
    (i & 1 ? gemm.a_displacement : gemm.b_displacement) = i & 4 ? 0 : 3;
    gemm.c_displacement = i & 2 ? 1 : 0;
    return gemm;
  });
}

// Less than a unit, than a class, than a block; more than once around the ring and several tiles.
TEST_F(Unaligned, SmallSizesAndManyBlocks) {
  const std::int64_t sizes[] = {1, 2, 7, 8, 9, 15, 65, 130};
  run_rows(16, "", [&](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, sizes[i % 8], sizes[(3 * i + i / 8 + 1) % 8], sizes[(5 * i + 2) % 8]);
    displace(gemm, 9 * i + 1);
    if (i % 3 == 1) gemm.beta = 1;
    return gemm;
  });
  run_rows(4, "", [](const KernelConfig& row, int i) {
    const int past_unit = i % 2 == 0 ? 1 + i : 0;  // batches keep their distance to 16 bytes
    GemmCase gemm = of(row, row.tile.m + 8 + past_unit, 2 * row.tile.n + 24 + past_unit,
                       64 * (row.stages + 3) + 8 + past_unit);
    displace(gemm, 11 * i + 3);
    gemm.batch = past_unit != 0 ? 1 : 2;
    return gemm;
  });
}

// Lines along k start elsewhere in their 16 bytes in each batch, but the batches are one tall
// matrix. Lines along m and n start alike in all.
TEST_F(Unaligned, BatchesOfWholeLines) {
  run_rows(4, "", [](const KernelConfig& row, int i) {
    const int odd = 2 * i + 1;
    GemmCase gemm = of(row, row.tile.m + 8 + (row.a == Major::k ? odd : 0),
                       row.tile.n - 8 + (row.b == Major::k ? odd : 0), 57 + i / 2 * 128);
    gemm.a_displacement = 3 * i + 1;
    gemm.b_displacement = i % 2 == 0 ? 0 : 5;
    gemm.ldb_extra = row.a == Major::k ? 2 * i : 0;  // the kernel sees A and B exchanged
    gemm.batch = i == 0 ? 9 : 3;
    return gemm;
  });
}

// Lines of each batch start elsewhere in their 16 bytes, or only the batches do.
TEST_F(Unaligned, BatchesAnyDistanceApart) {
  if (device_arch() == Arch::sm90)
    GTEST_SKIP() << "lines of a residue class keep their distance in all batches";
  run_rows(6, "", [](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, row.tile.m / 2 + i, row.tile.n + 8, 72);
    if (i % 2 == 0) gemm.ld_multiple = 8;
    gemm.batch = 3;
    gemm.stride_extra = 2 * i + 1;
    gemm.repeat_a = i == 4;
    gemm.repeat_b = i == 5;
    return gemm;
  });
}

// The memory of A and B ends with their last elements, many of them inside 16 bytes. Only a virtual
// GPU and memory checkers see what is read behind it.
TEST_F(Unaligned, ReadsNothingBehindTheOperands) {
  if (device_arch() == Arch::sm90)
    GTEST_SKIP() << "these kernels read a short line's one unit as a whole";
  run_rows(24, "", [](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, i % 3 == 0 ? 1 + i : row.tile.m - i, row.tile.n - 3 + i / 2, 60 + i);
    displace(gemm, 7 * i + 1);
    if (i % 4 == 1) gemm.k = 1 + i / 4;
    gemm.nothing_behind = true;
    return gemm;
  });
}

TEST_F(Unaligned, SplitsOfK) {
  run_rows(6, "3", [](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, row.tile.m - 1, 40 + i, 16 * 64 - 8 + i);
    displace(gemm, 13 * i + 5);
    gemm.beta = i % 3 == 0 ? 0.0f : -0.5f;
    return gemm;
  });
}

}  // namespace
}  // namespace bwgemm::test
