// SPDX-License-Identifier: Apache-2.0
// Every argument of every entry point, wrong in every way: the documented status, a message that
// names the argument and its value, nothing launched and nothing written.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "support/fake_gemm.h"

namespace bwgemm::test {
namespace {

constexpr std::int64_t least_int64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most_int64 = std::numeric_limits<std::int64_t>::max();

enum class Only { all, typed, batched };  // which entries have the argument

struct BadArgument {
  const char* name;   // of the argument, as the header spells it
  std::string value;  // as the message must show it; empty: a null pointer or an address
  bwgemmStatus_t status;
  Only only;
  std::function<void(GemmArguments&)> spoil;
};

std::vector<BadArgument> bad_arguments() {
  constexpr bwgemmStatus_t invalid = BWGEMM_STATUS_INVALID_VALUE;
  constexpr bwgemmStatus_t unsupported = BWGEMM_STATUS_NOT_SUPPORTED;
  std::vector<BadArgument> table;
  const auto add = [&](const char* name, std::string value, bwgemmStatus_t status, Only only,
                       std::function<void(GemmArguments&)> spoil) {
    table.push_back({name, std::move(value), status, only, std::move(spoil)});
  };

  for (const int operation : {-1, 3, 111, 0x7fffffff}) {
    const auto wrong = static_cast<bwgemmOperation_t>(operation);
    add("transa", std::to_string(operation), invalid, Only::all,
        [=](auto& g) { g.transa = wrong; });
    add("transb", std::to_string(operation), invalid, Only::all,
        [=](auto& g) { g.transb = wrong; });
  }
  for (const std::int64_t size : {std::int64_t{-1}, least_int64}) {
    add("m", std::to_string(size), invalid, Only::all, [=](auto& g) { g.m = size; });
    add("n", std::to_string(size), invalid, Only::all, [=](auto& g) { g.n = size; });
    add("k", std::to_string(size), invalid, Only::all, [=](auto& g) { g.k = size; });
    add("batchCount", std::to_string(size), invalid, Only::batched,
        [=](auto& g) { g.batch_count = size; });
    add("strideA", std::to_string(size), invalid, Only::batched,
        [=](auto& g) { g.stride_a = size; });
    add("strideB", std::to_string(size), invalid, Only::batched,
        [=](auto& g) { g.stride_b = size; });
    add("strideC", std::to_string(size), invalid, Only::batched,
        [=](auto& g) { g.stride_c = size; });
  }
  // Zero and one batch of C behind less than one matrix; and ones that meet further on.
  for (const std::int64_t stride : {0, 1, 255, 65535, 256, 300})
    add("strideC", std::to_string(stride), invalid, Only::batched,
        [=](auto& g) { g.stride_c = stride; });

  add("alpha", "", invalid, Only::all, [](auto& g) { g.alpha = nullptr; });
  add("beta", "", invalid, Only::all, [](auto& g) { g.beta = nullptr; });
  add("A", "", invalid, Only::all, [](auto& g) { g.a = nullptr; });
  add("B", "", invalid, Only::all, [](auto& g) { g.b = nullptr; });
  add("C", "", invalid, Only::all, [](auto& g) { g.c = nullptr; });
  // C is written even where A and B are not read.
  add("C", "", invalid, Only::all, [](auto& g) { g.c = nullptr, g.k = 0; });
  add("A", "", invalid, Only::all, [](auto& g) { g.a = device_pointer(0x7f0000000001); });
  add("B", "", invalid, Only::all, [](auto& g) { g.b = device_pointer(0x7f0000000001); });
  add("C", "", invalid, Only::all, [](auto& g) { g.c = device_pointer(0x7f0000000001); });
  add("C", "", invalid, Only::typed,
      [](auto& g) { g.c = device_pointer(0x7f0000000002), g.c_type = BWGEMM_R_32F; });

  for (const std::int64_t ld :
       {std::int64_t{255}, std::int64_t{0}, std::int64_t{-1}, least_int64}) {
    add("lda", std::to_string(ld), invalid, Only::all, [=](auto& g) { g.lda = ld; });
    add("ldb", std::to_string(ld), invalid, Only::all, [=](auto& g) { g.ldb = ld; });
    add("ldc", std::to_string(ld), invalid, Only::all, [=](auto& g) { g.ldc = ld; });
  }
  // The rows as stored are m or k, n or k, as the transposes say.
  add("lda", "299", invalid, Only::all,
      [](auto& g) { g.transa = BWGEMM_OP_N, g.m = g.ldc = 300, g.lda = 299; });
  add("ldb", "299", invalid, Only::all,
      [](auto& g) { g.transb = BWGEMM_OP_C, g.n = 300, g.ldb = 299; });
  // Leading dimensions are checked as BLAS does, whatever is read.
  add("lda", "0", invalid, Only::all, [](auto& g) { g.k = 0, g.lda = 0; });
  add("ldb", "0", invalid, Only::all, [](auto& g) { g.k = 0, g.ldb = 0; });

  // Offsets that 63 bits cannot hold.
  add("lda", std::to_string(most_int64), invalid, Only::all, [](auto& g) { g.lda = most_int64; });
  add("ldb", std::to_string(most_int64), invalid, Only::all, [](auto& g) { g.ldb = most_int64; });
  add("ldc", std::to_string(most_int64), invalid, Only::all, [](auto& g) { g.ldc = most_int64; });
  add("strideA", std::to_string(most_int64), invalid, Only::batched,
      [](auto& g) { g.stride_a = most_int64; });
  add("strideC", std::to_string(most_int64), invalid, Only::batched,
      [](auto& g) { g.stride_c = most_int64; });

  for (const int type : {1, 3, 13, 27, 30, -1, 999}) {
    const auto unknown = static_cast<bwgemmDataType_t>(type);
    add("Atype", std::to_string(type), invalid, Only::typed, [=](auto& g) { g.a_type = unknown; });
    add("Btype", std::to_string(type), invalid, Only::typed, [=](auto& g) { g.b_type = unknown; });
    add("Ctype", std::to_string(type), invalid, Only::typed, [=](auto& g) { g.c_type = unknown; });
  }
  for (const bwgemmDataType_t type : {BWGEMM_R_32F, BWGEMM_R_8F_E4M3, BWGEMM_R_8F_E5M2})
    add("Atype", "", unsupported, Only::typed, [=](auto& g) { g.a_type = g.b_type = type; });
  add("Btype", "", unsupported, Only::typed, [](auto& g) { g.b_type = BWGEMM_R_16F; });
  add("Ctype", "", unsupported, Only::typed, [](auto& g) { g.c_type = BWGEMM_R_16F; });
  add("Ctype", "", unsupported, Only::typed, [](auto& g) { g.c_type = BWGEMM_R_8F_E4M3; });
  for (const int type : {64, 70, 72, 74, 77})  // cuBLAS's others
    add("computeType", std::to_string(type), unsupported, Only::typed,
        [=](auto& g) { g.compute_type = static_cast<bwgemmComputeType_t>(type); });
  for (const int type : {0, -1, 63, 9999})
    add("computeType", std::to_string(type), invalid, Only::typed,
        [=](auto& g) { g.compute_type = static_cast<bwgemmComputeType_t>(type); });
  for (const int algo : {-2, 24, 50, 98, 116, 0x7fffffff})
    add("algo", std::to_string(algo), invalid, Only::typed, [=](auto& g) { g.algo = algo; });
  return table;
}

bool applies(const BadArgument& bad, const GemmEntry& entry) {
  return bad.only == Only::all || (bad.only == Only::typed && entry.has_types) ||
         (bad.only == Only::batched && entry.has_batch);
}

class BadArguments : public FakeHandleTest {
 protected:
  static constexpr char untouched[] = "untouched";

  // Legal arguments, with outputs whose contents are known.
  GemmArguments legal() {
    GemmArguments gemm;
    size_ = 4711;
    std::strcpy(text_, untouched);
    gemm.workspace_size = &size_;
    gemm.text = text_;
    gemm.text_size = sizeof text_;
    return gemm;
  }

  void expect_nothing_happened(const std::string& what) {
    EXPECT_EQ(fake_cuda().launches(), 0) << what;
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0) << what;
    EXPECT_EQ(fake_cuda().calls("cuLibraryLoadData"), 0) << what;
    EXPECT_EQ(fake_cuda().calls("cuTensorMapEncodeTiled"), 0) << what;
    EXPECT_EQ(size_, 4711u) << what << ": the size was written";
    EXPECT_STREQ(text_, untouched) << what << ": the text was written";
  }

 private:
  std::size_t size_ = 0;
  char text_[4096];
};

TEST_F(BadArguments, LegalOnesAreAccepted) {
  for (const GemmEntry& entry : gemm_entries)
    EXPECT_EQ(entry.call(handle(), legal()), BWGEMM_STATUS_SUCCESS)
        << entry.name << ": " << bwgemmGetLastErrorString();
}

TEST_F(BadArguments, Table) {
  for (const GemmEntry& entry : gemm_entries)
    for (const BadArgument& bad : bad_arguments()) {
      if (!applies(bad, entry)) continue;
      GemmArguments gemm = legal();
      bad.spoil(gemm);
      const std::string what = std::string(entry.name) + " with " + bad.name + " " + bad.value;
      EXPECT_EQ(entry.call(handle(), gemm), bad.status)
          << what << ": " << bwgemmGetLastErrorString();
      const std::string text = bwgemmGetLastErrorString();
      EXPECT_THAT(text, ::testing::HasSubstr(entry.name)) << what;
      EXPECT_TRUE(mentions(text, bad.name)) << what << " is not named: " << text;
      EXPECT_THAT(text, ::testing::HasSubstr(bad.value)) << what;
      if (bad.value.empty() && bad.status == BWGEMM_STATUS_INVALID_VALUE) {
        EXPECT_TRUE(mentions(text, "null") || mentions(text, "address")) << what << ": " << text;
      }
      EXPECT_GT(text.size(), 20u) << what << ": the rule is missing: " << text;
      expect_nothing_happened(what);
    }
}

// Two at once: the first in argument order is the one that is named, and INVALID_VALUE comes before
// NOT_SUPPORTED.
TEST_F(BadArguments, TheFirstIsNamed) {
  GemmArguments gemm = legal();
  gemm.m = -5;
  gemm.algo = 55;
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "m")) << bwgemmGetLastErrorString();
  gemm = legal();
  gemm.a_type = gemm.b_type = BWGEMM_R_8F_E4M3;
  gemm.algo = 55;
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE);
  EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "algo")) << bwgemmGetLastErrorString();
}

TEST_F(BadArguments, ABatchedCallWithOneBatchAcceptsAnyStrideOfC) {
  GemmArguments gemm = legal();
  gemm.batch_count = 1;
  for (const std::int64_t stride : {0, 1, 300}) {
    gemm.stride_c = stride;
    EXPECT_EQ(gemm_batched(handle(), gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  }
}

TEST_F(BadArguments, BatchesOfCThatDoNotOverlapAreLegalHoweverTheyLie) {
  GemmArguments gemm = legal();
  gemm.m = 64;
  gemm.ldc = 200;
  for (const auto& [stride, count] : {std::pair{64, 3}, std::pair{68, 3}, std::pair{200 * 256, 3},
                                      std::pair{200 * 255 + 64, 3}}) {
    gemm.stride_c = stride, gemm.batch_count = count;
    EXPECT_EQ(gemm_batched(handle(), gemm), BWGEMM_STATUS_SUCCESS)
        << "strideC " << stride << ": " << bwgemmGetLastErrorString();
  }
  for (const auto& [stride, count] : {std::pair{64, 4}, std::pair{63, 2}, std::pair{100, 3},
                                      std::pair{200, 2}, std::pair{200 * 255 + 63, 2}}) {
    gemm.stride_c = stride, gemm.batch_count = count;
    EXPECT_EQ(gemm_batched(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE) << "strideC " << stride;
  }
}

// Against marking every element, for all small cases.
TEST_F(BadArguments, BatchesOfCOverlapExactlyIfAnElementIsInTwo) {
  const auto overlap = [](int m, int n, int ldc, int stride, int batch) {
    std::vector<bool> taken(static_cast<std::size_t>((batch - 1) * stride + n * ldc));
    for (int z = 0; z < batch; ++z)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
          const auto at = static_cast<std::size_t>(z * stride + j * ldc + i);
          if (taken[at]) return true;
          taken[at] = true;
        }
    return false;
  };
  GemmArguments gemm = legal();
  gemm.k = 0;
  for (int m = 1; m <= 4; ++m)
    for (int n = 1; n <= 4; ++n)
      for (int ldc = m; ldc <= 9; ++ldc)
        for (int stride = 0; stride <= 30; ++stride)
          for (int batch = 2; batch <= 5; ++batch) {
            gemm.m = m, gemm.n = n, gemm.ldc = ldc, gemm.stride_c = stride,
            gemm.batch_count = batch;
            ASSERT_EQ(gemm_batched(handle(), gemm), overlap(m, n, ldc, stride, batch)
                                                        ? BWGEMM_STATUS_INVALID_VALUE
                                                        : BWGEMM_STATUS_SUCCESS)
                << m << " x " << n << ", ldc " << ldc << ", strideC " << stride << ", batches "
                << batch;
          }
}

TEST_F(BadArguments, InputsMayBeBroadcast) {
  GemmArguments gemm = legal();
  gemm.stride_a = gemm.stride_b = 0;
  EXPECT_EQ(gemm_batched(handle(), gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
}

TEST_F(BadArguments, EveryAlgoOfCublasMeansChoose) {
  for (int algo = -1; algo <= 115; ++algo) {
    if (algo > 23 && algo < 99) continue;
    GemmArguments gemm = legal();
    gemm.algo = algo;
    EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS) << algo;
  }
}

TEST_F(BadArguments, EmptyResultsLookAtNoPointerAndLaunchNothing) {
  for (const GemmEntry& entry : gemm_entries)
    for (const auto& [m, n, batch] : {std::tuple{0, 256, 3}, std::tuple{256, 0, 3},
                                      std::tuple{0, 0, 3}, std::tuple{256, 256, 0}}) {
      if (batch == 0 && !entry.has_batch) continue;
      GemmArguments gemm = legal();
      gemm.m = m, gemm.n = n, gemm.batch_count = batch;
      gemm.alpha = gemm.beta = gemm.a = gemm.b = nullptr;
      gemm.c = nullptr;
      EXPECT_EQ(entry.call(handle(), gemm), BWGEMM_STATUS_SUCCESS)
          << entry.name << ": " << bwgemmGetLastErrorString();
      EXPECT_EQ(fake_cuda().launches(), 0);
    }
}

TEST_F(BadArguments, AAndBMayBeNullWhereTheyAreNotRead) {
  for (const std::int64_t k : {0, 256}) {
    GemmArguments gemm = legal();
    gemm.k = k;
    if (k > 0) gemm.alpha = &GemmArguments::zero;
    gemm.a = gemm.b = nullptr;
    fake_cuda().reset();
    EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
    EXPECT_EQ(only_launch().params.k_blocks, 0) << only_launch().kernel;
  }
}

// The host cannot know a device alpha: null is refused unless k settles it.
TEST_F(BadArguments, AAndBMayBeNullWithDeviceScalarsOnlyIfKIsZero) {
  ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  for (const GemmEntry& entry : gemm_entries)
    for (const bool spoils_a : {true, false}) {
      GemmArguments gemm = legal();
      gemm.alpha = device_pointer(0x7f0030000000);
      gemm.beta = device_pointer(0x7f0030000004);
      (spoils_a ? gemm.a : gemm.b) = nullptr;
      fake_cuda().reset();
      EXPECT_EQ(entry.call(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE) << entry.name;
      EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), spoils_a ? "A" : "B"));
      EXPECT_TRUE(mentions(bwgemmGetLastErrorString(), "alpha")) << bwgemmGetLastErrorString();
      expect_nothing_happened(entry.name);
      gemm.k = 0;
      gemm.a = gemm.b = nullptr;
      EXPECT_EQ(entry.call(handle(), gemm), BWGEMM_STATUS_SUCCESS)
          << entry.name << ": " << bwgemmGetLastErrorString();
      if (entry.launches) {
        EXPECT_EQ(only_launch().params.k_blocks, 0);
        EXPECT_EQ(only_launch().params.beta.device, gemm.beta);
      }
    }
}

// Where they are not read, or have one column, their leading dimensions are never multiplied.
TEST_F(BadArguments, LeadingDimensionsMayBeEnormous) {
  GemmArguments gemm = legal();
  gemm.k = 0, gemm.lda = gemm.ldb = most_int64;
  for (const GemmEntry& entry : gemm_entries)
    EXPECT_EQ(entry.call(handle(), gemm), BWGEMM_STATUS_SUCCESS)
        << entry.name << ": " << bwgemmGetLastErrorString();
  gemm = legal();
  gemm.m = gemm.n = 1, gemm.lda = gemm.ldb = gemm.ldc = most_int64;
  for (const GemmEntry& entry : gemm_entries)
    EXPECT_EQ(entry.call(handle(), gemm), BWGEMM_STATUS_SUCCESS)
        << entry.name << ": " << bwgemmGetLastErrorString();
}

// The reasons are about operands that changed places; the text must say so.
TEST_F(BadArguments, ReasonsOfKernelsSayWhoseLettersTheyUse) {
  GemmArguments gemm = legal();
  gemm.n = gemm.ldb = std::int64_t{1} << 45;
  gemm.transb = BWGEMM_OP_T, gemm.m = gemm.k = gemm.ldc = 1;
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_NOT_SUPPORTED) << bwgemmGetLastErrorString();
  EXPECT_THAT(bwgemmGetLastErrorString(), ::testing::HasSubstr("A and B, m and n"));
}

// Sizes that exist in no machine: an answer, and no crash.
TEST_F(BadArguments, EnormousSizes) {
  for (const std::int64_t size :
       {std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{1} << 62, most_int64})
    for (const int which : {0, 1, 2, 3, 4}) {
      GemmArguments gemm = legal();
      if (which == 0 || which == 3) gemm.m = gemm.ldc = size;
      if (which == 1 || which == 3) gemm.n = size;
      if (which == 2 || which == 3) gemm.k = gemm.lda = gemm.ldb = size;
      if (which == 4) gemm.batch_count = size;
      for (const GemmEntry& entry : gemm_entries) {
        const bwgemmStatus_t status = entry.call(handle(), gemm);
        EXPECT_TRUE(status == BWGEMM_STATUS_SUCCESS || status == BWGEMM_STATUS_INVALID_VALUE ||
                    status == BWGEMM_STATUS_NOT_SUPPORTED)
            << entry.name << " size " << size << " case " << which << ": "
            << bwgemmGetLastErrorString();
      }
    }
}

TEST_F(BadArguments, DeviceScalars) {
  ASSERT_EQ(bwgemmSetPointerMode(handle(), BWGEMM_POINTER_MODE_DEVICE), BWGEMM_STATUS_SUCCESS);
  GemmArguments gemm = legal();
  gemm.alpha = device_pointer(0x7f0030000000);  // never read by the host
  gemm.beta = device_pointer(0x7f0030000004);
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_SUCCESS) << bwgemmGetLastErrorString();
  EXPECT_EQ(only_launch().params.alpha.device, gemm.alpha);
  EXPECT_EQ(only_launch().params.beta.device, gemm.beta);
  fake_cuda().reset();
  gemm.alpha = nullptr;
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE);
  gemm = legal();
  gemm.alpha = device_pointer(0x7f0030000000), gemm.beta = nullptr;
  EXPECT_EQ(gemm_ex(handle(), gemm), BWGEMM_STATUS_INVALID_VALUE);
  expect_nothing_happened("null device scalars");
}

}  // namespace
}  // namespace bwgemm::test
