// SPDX-License-Identifier: Apache-2.0
// The kernels that load by TMA what TMA cannot address, forced: every start of every operand in its
// 16 bytes, with leading dimensions of every residue, in all majors and types of output. Around and
// between the elements of A, B and C lies NaN, which must be neither read into a result nor
// overwritten.
#include <gtest/gtest.h>
#include <memory>

#include "gpu/row_problems.h"
#include "kernels/rows.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

bool is_scattered(const KernelConfig& row) {
  return row.family == Family::cooperative && row.output == Output::scattered;
}

// The smallest tile of each pair of majors: the rows of a class differ in constants.
std::vector<KernelConfig> scattered_rows() {
  std::vector<KernelConfig> rows;
  for (const KernelConfig& row : kernel_rows)
    if (is_scattered(row) && (!small_scale() || is_representative(row))) rows.push_back(row);
  return rows;
}

class Unaligned : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) != 9)
      GTEST_SKIP() << "these kernels are for Hopper";
  }

  // Runs problem(row, i) on a handle that has nothing but the row; `splits` may be empty.
  template <class MakeProblem>
  void run_rows(int problems, const char* splits, const MakeProblem& make_problem) {
    for (const KernelConfig& row : scattered_rows()) {
      const std::string name(kernel_name(row).view());
      SCOPED_TRACE(name);
      const Variable kernel("BWGEMM_FORCE_KERNEL", name);
      const Variable slices("BWGEMM_FORCE_SPLITS", splits);
      const Handle handle;
      for (int i = 0; i < problems && !HasFailure(); ++i) {
        GemmCase gemm = make_problem(row, i);
        gemm.input = row.input == Input::bf16 ? Dtype::bf16 : Dtype::f16;
        gemm.output = i % 2 == 0 ? gemm.input : Dtype::f32;
        gemm.seed = static_cast<std::uint64_t>(i + 1);
        run(handle.get(), gemm);
      }
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

TEST_F(Unaligned, SlicesOfK) {
  run_rows(6, "3", [](const KernelConfig& row, int i) {
    GemmCase gemm = of(row, row.tile.m - 1, 40 + i, 16 * 64 - 8 + i);
    displace(gemm, 13 * i + 5);
    gemm.beta = i % 3 == 0 ? 0.0f : -0.5f;
    return gemm;
  });
}

}  // namespace
}  // namespace bwgemm::test
