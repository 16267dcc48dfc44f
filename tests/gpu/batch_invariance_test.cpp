// SPDX-License-Identifier: Apache-2.0
// BWGEMM_DETERMINISM_BATCH_INVARIANT: an element of D has the same bits whatever problem it is part
// of. One large product is the standard; parts of it, computed alone on the same operands, and by
// every kernel of the mode in turn, must agree with it in every bit. Data are random, so that every
// order of additions but one shows.
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "families/variants.h"
#include "gpu/row_problems.h"
#include "support/gemm_case.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

// Operands of op(A) = A^T (k x m stored) or A, and B or B^T, with room for displaced starts.
struct Layout {
  bwgemmOperation_t transa = BWGEMM_OP_T, transb = BWGEMM_OP_N;
  std::int64_t m = 300, n = 96, k = 264;
  Dtype input = Dtype::bf16, output = Dtype::f32;
  float alpha = 1, beta = 0;
  bool is_fused = false;  // with scales, bias and an activation, by bwgemmMatmul
};

// A part of the product: rows i .. i + m and columns j .. j + n, `batch` times.
struct Part {
  std::int64_t i = 0, m = 1, j = 0, n = 1;
  std::int64_t batch = 1;
  int displacement = 0;  // elements by which A, B and D start and step beyond a unit of 16 bytes
};

std::ostream& operator<<(std::ostream& out, const Part& part) {
  return out << "rows " << part.i << " + " << part.m << ", columns " << part.j << " + " << part.n
             << ", batch " << part.batch << ", displaced by " << part.displacement;
}

class BatchInvariance : public GpuTest {
 protected:
  // The part of the product, densely: bits of its elements, column by column, batch after batch.
  static std::vector<std::uint32_t> computed(bwgemmHandle_t handle, const Layout& layout,
                                             const Part& part) {
    const Matrix a = stored(layout, true, part), b = stored(layout, false, part);
    const std::int64_t ldc = round_up(part.m) + part.displacement;
    Matrix c(layout.output, part.m, part.n, ldc, part.batch, ldc * round_up(part.n));
    for (std::int64_t batch = 0; batch < part.batch; ++batch)
      for (std::int64_t j = 0; j < part.n; ++j)
        for (std::int64_t i = 0; i < part.m; ++i)
          c.set(i, j, element(3, part.i + i, part.j + j), batch);
    GuardedBuffer device_a(a, part.displacement), device_b(b, part.displacement);
    GuardedBuffer device_c(c, part.displacement);
    status = layout.is_fused ? fused(handle, layout, part, a, b, c, device_a.pointer(),
                                     device_b.pointer(), device_c.pointer())
                             : plain(handle, layout, part, a, b, c, device_a.pointer(),
                                     device_b.pointer(), device_c.pointer());
    if (status != BWGEMM_STATUS_SUCCESS) return {};
    const Matrix d = device_c.download();
    EXPECT_EQ(device_c.damage(), "");
    std::vector<std::uint32_t> bits;
    for (std::int64_t batch = 0; batch < part.batch; ++batch)
      for (std::int64_t j = 0; j < part.n; ++j)
        for (std::int64_t i = 0; i < part.m; ++i) {
          std::uint32_t word = 0;
          std::memcpy(&word, d.at(i, j, batch), static_cast<std::size_t>(size_bytes(d.type())));
          bits.push_back(word);
        }
    return bits;
  }

  // Elements of the part that differ from the same ones of the whole product.
  static std::int64_t differences(const Layout& layout, const std::vector<std::uint32_t>& whole,
                                  const Part& part, const std::vector<std::uint32_t>& bits) {
    std::int64_t different = 0;
    std::size_t at = 0;
    for (std::int64_t batch = 0; batch < part.batch; ++batch)
      for (std::int64_t j = part.j; j < part.j + part.n; ++j)
        for (std::int64_t i = part.i; i < part.i + part.m; ++i)
          different += bits.at(at++) != whole[static_cast<std::size_t>(j * layout.m + i)];
    return different;
  }

  static void expect_part(bwgemmHandle_t handle, const Layout& layout,
                          const std::vector<std::uint32_t>& whole, const Part& part) {
    const std::vector<std::uint32_t> bits = computed(handle, layout, part);
    ASSERT_TRUE(succeeds(status)) << part;
    EXPECT_EQ(differences(layout, whole, part, bits), 0) << part;
  }

  static Part all_of(const Layout& layout) { return {.m = layout.m, .n = layout.n}; }

  static void set_mode(bwgemmHandle_t handle, bwgemmDeterminism_t mode) {
    ASSERT_TRUE(succeeds(bwgemmSetDeterminism(handle, mode)));
  }

  static inline bwgemmStatus_t status = BWGEMM_STATUS_SUCCESS;

 private:
  static std::int64_t round_up(std::int64_t value) { return (value + 7) / 8 * 8; }

  // Of op(A) (which 1), op(B) (2) or C (3): of many magnitudes, so that alignment cuts bits.
  static float element(std::uint64_t which, std::int64_t row, std::int64_t column) {
    const auto index = static_cast<std::uint64_t>(row * 4096 + column);
    const float scale = sample(Fill::integers, which + 7, index);
    return sample(Fill::normal, which, index) * std::exp2(scale);
  }

  static bwgemmStatus_t plain(bwgemmHandle_t handle, const Layout& layout, const Part& part,
                              const Matrix& a, const Matrix& b, const Matrix& c, const void* at_a,
                              const void* at_b, void* at_c) {
    return bwgemmGemmStridedBatchedEx(
        handle, layout.transa, layout.transb, part.m, part.n, layout.k, &layout.alpha, at_a,
        c_type(layout.input), a.ld(), 0, at_b, c_type(layout.input), b.ld(), 0, &layout.beta, at_c,
        c_type(layout.output), c.ld(), c.stride(), part.batch, BWGEMM_COMPUTE_32F, -1);
  }

  // Waits: its vectors are freed.
  static bwgemmStatus_t fused(bwgemmHandle_t handle, const Layout& layout, const Part& part,
                              const Matrix& a, const Matrix& b, const Matrix& c, const void* at_a,
                              const void* at_b, void* at_c) {
    const auto vector = [](std::uint64_t which, std::int64_t first, std::int64_t count) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < count; ++i) values.push_back(element(which, first + i, 0));
      DeviceMemory memory(values.size() * sizeof(float));
      check(driver().memcpy_htod(memory.address(), values.data(), values.size() * sizeof(float)),
            "cuMemcpyHtoD");
      return memory;
    };
    const DeviceMemory bias = vector(4, part.i, part.m), row_scale = vector(5, part.i, part.m);
    const DeviceMemory column_scale = vector(6, part.j, part.n);
    bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
    desc.transa = layout.transa, desc.transb = layout.transb;
    desc.m = part.m, desc.n = part.n, desc.k = layout.k;
    desc.Atype = desc.Btype = c_type(layout.input);
    desc.Ctype = desc.Dtype = c_type(layout.output);
    desc.lda = a.ld(), desc.ldb = b.ld(), desc.ldc = desc.ldd = c.ld();
    desc.batchCount = part.batch, desc.strideC = desc.strideD = c.stride();
    desc.bias = bias.as(), desc.biasType = BWGEMM_R_32F;
    desc.rowScale = row_scale.as<float>(), desc.columnScale = column_scale.as<float>();
    desc.activation = BWGEMM_ACTIVATION_GELU_TANH;
    const bwgemmStatus_t result =
        bwgemmMatmul(handle, &desc, &layout.alpha, at_a, at_b, &layout.beta, at_c, at_c);
    synchronize();
    return result;
  }

  // A or B as the part needs it, stored by columns.
  static Matrix stored(const Layout& layout, bool is_a, const Part& part) {
    const bool transposed = (is_a ? layout.transa : layout.transb) != BWGEMM_OP_N;
    const std::int64_t along_k = layout.k, lines = is_a ? part.m : part.n;
    const bool rows_are_lines = is_a != transposed;
    const std::int64_t rows = rows_are_lines ? lines : along_k;
    const std::int64_t columns = rows_are_lines ? along_k : lines;
    Matrix matrix(layout.input, rows, columns, round_up(rows) + part.displacement);
    for (std::int64_t line = 0; line < lines; ++line)
      for (std::int64_t k = 0; k < along_k; ++k) {
        const float value = is_a ? element(1, part.i + line, k) : element(2, part.j + line, k);
        matrix.set(rows_are_lines ? line : k, rows_are_lines ? k : line, value);
      }
    return matrix;
  }
};

std::vector<std::int64_t> heights(std::int64_t most) {
  if (small_scale()) return {1, 2, 5, 8, 9, 16, 17, 33, 64, 65, 128, 129, 200, most};
  std::vector<std::int64_t> all;
  for (std::int64_t m = 1; m <= most; ++m) all.push_back(m);
  return all;
}

// Every kernel of the mode, forced, in every type and pair of majors that it has.
TEST_F(BatchInvariance, EveryKernelOfTheModeGivesTheSameBits) {
  const Arch arch = device_arch();
  const Handle free;
  set_mode(free.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT);
  int compared = 0, displaced = 0;
  for (const std::int64_t k : {200, 17, 520})
    for (const int majors : {0, 1, 2, 3}) {
      Layout layout{.m = 40, .n = 48, .k = k};
      layout.transa = majors & 1 ? BWGEMM_OP_N : BWGEMM_OP_T;
      layout.transb = majors & 2 ? BWGEMM_OP_T : BWGEMM_OP_N;
      if (k == 17) layout.input = Dtype::f16;
      const std::vector<std::uint32_t> whole = computed(free.get(), layout, all_of(layout));
      for (const KernelConfig& row : kernel_variants) {
        if (row.arch != arch) continue;
        const std::string name(kernel_name(row).view());
        const Variable kernel("BWGEMM_FORCE_KERNEL", name);
        // Ignored: splits of k would be summed in another order.
        const Variable splits("BWGEMM_FORCE_SPLITS", "2");
        const Handle forced;
        set_mode(forced.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT);
        for (const int displacement : {0, 3}) {
          Part part = all_of(layout);
          part.displacement = displacement;
          const std::vector<std::uint32_t> bits = computed(forced.get(), layout, part);
          if (status == BWGEMM_STATUS_NOT_SUPPORTED) continue;
          ASSERT_TRUE(succeeds(status)) << name;
          EXPECT_EQ(differences(layout, whole, part, bits), 0)
              << name << ", k " << k << ", " << part;
          ++compared;
          displaced += displacement != 0;
        }
      }
    }
  EXPECT_GE(compared, arch == Arch::sm90 ? 300 : 100);
  EXPECT_GE(displaced, arch == Arch::sm90 ? 18 : 24);  // direct, and those that move lines
}

TEST_F(BatchInvariance, RowsDoNotDependOnHowManyThereAre) {
  const Layout layout;
  const Handle handle;
  set_mode(handle.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT);
  const std::vector<std::uint32_t> whole = computed(handle.get(), layout, all_of(layout));
  for (const std::int64_t m : heights(layout.m))
    expect_part(handle.get(), layout, whole,
                {.i = (layout.m - m) / 2, .m = m, .j = 0, .n = layout.n});
  for (const std::int64_t n : {1, 3, 8, 24, 50})
    expect_part(handle.get(), layout, whole, {.i = 7, .m = 33, .j = 96 - n, .n = n});
}

TEST_F(BatchInvariance, NorOnBatchAlignmentWorkspaceOrMultiprocessors) {
  for (const bool other_majors : {false, true}) {
    Layout layout{
        .m = 130, .n = 72, .k = 1096, .output = Dtype::bf16, .alpha = -0.75f, .beta = 0.5f};
    if (other_majors) layout.transa = BWGEMM_OP_N, layout.transb = BWGEMM_OP_T;
    const Handle handle;
    set_mode(handle.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT);
    const std::vector<std::uint32_t> whole = computed(handle.get(), layout, all_of(layout));
    for (const int displacement : {0, 1, 2, 4})
      for (const std::int64_t batch : {1, 3})
        expect_part(
            handle.get(), layout, whole,
            {.i = 5, .m = 6, .j = 9, .n = 40, .batch = batch, .displacement = displacement});
    for (const std::size_t workspace : {std::size_t{0}, std::size_t{1} << 20}) {
      ASSERT_TRUE(succeeds(bwgemmSetWorkspace(handle.get(), nullptr, workspace)));
      for (const int multiprocessors : {1, 3, 0}) {
        ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle.get(), multiprocessors)));
        expect_part(handle.get(), layout, whole, {.i = 1, .m = 2, .j = 0, .n = 72});
        expect_part(handle.get(), layout, whole, {.i = 64, .m = 66, .j = 8, .n = 64});
      }
    }
  }
}

TEST_F(BatchInvariance, NorAreFusedOperationsAnException) {
  Layout layout{.m = 130, .n = 72, .k = 264, .output = Dtype::bf16, .alpha = 0.5f, .beta = 1};
  layout.is_fused = true;
  const Handle handle;
  set_mode(handle.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT);
  const std::vector<std::uint32_t> whole = computed(handle.get(), layout, all_of(layout));
  ASSERT_TRUE(succeeds(status));
  for (const std::int64_t m : {1, 8, 17, 65, 129})
    for (const int displacement : {0, 1})
      expect_part(handle.get(), layout, whole,
                  {.i = 1, .m = m, .j = 9, .n = 40, .batch = 2, .displacement = displacement});
}

// What the mode is for: without it these sums differ.
TEST_F(BatchInvariance, FreeChoiceIsNotInvariant) {
  const Layout layout{.m = 130, .n = 264, .k = 2056};
  const Handle handle;
  const std::vector<std::uint32_t> whole = computed(handle.get(), layout, all_of(layout));
  const Part part{.i = 3, .m = 1, .j = 0, .n = layout.n};
  EXPECT_GT(differences(layout, whole, part, computed(handle.get(), layout, part)), 0);
  set_mode(handle.get(), BWGEMM_DETERMINISM_BATCH_INVARIANT);
  expect_part(handle.get(), layout, computed(handle.get(), layout, all_of(layout)), part);
}

}  // namespace
}  // namespace bwgemm::test
