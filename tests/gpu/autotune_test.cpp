// SPDX-License-Identifier: Apache-2.0
// Every algo that is listed for a product computes it, and tuning leaves behind what one product
// with the algo that it found does. How long launches take does not matter here.
#include <gtest/gtest.h>
#include <vector>

#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

bwgemmMatmulDesc_t desc_of(const GemmCase& gemm, const Operands& operands) {
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = gemm.transa, desc.transb = gemm.transb;
  desc.m = gemm.m, desc.n = gemm.n, desc.k = gemm.k;
  desc.Atype = desc.Btype = c_type(gemm.input);
  desc.Ctype = desc.Dtype = c_type(gemm.output);
  desc.lda = operands.a().ld(), desc.ldb = operands.b().ld();
  desc.ldc = desc.ldd = operands.c_before().ld();
  desc.batchCount = gemm.batch;
  desc.strideA = operands.a().stride(), desc.strideB = operands.b().stride();
  desc.strideC = desc.strideD = operands.c_before().stride();
  return desc;
}

std::vector<GemmCase> tuned_problems() {
  std::vector<GemmCase> all = {
      {.m = 72, .n = 136, .k = 200, .ld_multiple = 8},
      {.m = 64, .n = 64, .k = 2048, .output = Dtype::f32, .beta = 1, .ld_multiple = 8},
      {.m = 35,
       .n = 61,
       .k = 99,
       .input = Dtype::f16,
       .output = Dtype::f16,
       .beta = -0.5f,
       .a_displacement = 1,
       .c_displacement = 3,
       .batch = 2},
      {.m = 300, .n = 3, .k = 264, .ld_multiple = 8},
  };
  for (GemmCase& gemm : all) {
    gemm.transa = BWGEMM_OP_T;
    gemm.fill = Fill::integers;
    if (gemm.beta == 0) gemm.fill_c = Fill::poison;
  }
  return all;
}

class Autotune : public HandleTest {
 protected:
  // C is D.
  bwgemmStatus_t matmul(const GemmCase& gemm, const Operands& operands, std::int64_t algo) const {
    bwgemmMatmulDesc_t desc = desc_of(gemm, operands);
    desc.algo = algo;
    return bwgemmMatmul(handle(), &desc, &gemm.alpha, operands.a_pointer(), operands.b_pointer(),
                        &gemm.beta, operands.c_pointer(), operands.c_pointer());
  }

  bwgemmStatus_t tune(const GemmCase& gemm, const Operands& operands, std::int64_t* algo) const {
    const bwgemmMatmulDesc_t desc = desc_of(gemm, operands);
    bwgemmAutotuneOptions_t options = BWGEMM_AUTOTUNE_OPTIONS_INIT;
    if (small_scale()) options.candidates = 3, options.repetitions = 1;
    return bwgemmMatmulAutotune(handle(), &desc, &gemm.alpha, operands.a_pointer(),
                                operands.b_pointer(), &gemm.beta, operands.c_pointer(),
                                operands.c_pointer(), &options, algo);
  }

  std::vector<bwgemmMatmulAlgo_t> algos(const GemmCase& gemm, const Operands& operands) const {
    const bwgemmMatmulDesc_t desc = desc_of(gemm, operands);
    std::vector<bwgemmMatmulAlgo_t> all(10000);
    all[0].structSize = sizeof(bwgemmMatmulAlgo_t);
    std::size_t count = 0;
    EXPECT_TRUE(succeeds(bwgemmMatmulGetAlgos(
        handle(), &desc, &gemm.alpha, operands.a_pointer(), operands.b_pointer(), &gemm.beta,
        operands.c_pointer(), operands.c_pointer(), all.data(), all.size(), &count)));
    EXPECT_LT(count, all.size());
    all.resize(count);
    return all;
  }
};

TEST_F(Autotune, EveryAlgoThatIsListedComputesTheProduct) {
  for (const GemmCase& gemm : tuned_problems()) {
    Operands operands(gemm);
    const std::vector<bwgemmMatmulAlgo_t> all = algos(gemm, operands);
    ASSERT_FALSE(all.empty());
    const std::size_t step = small_scale() ? 1 + all.size() / 16 : 1;
    for (std::size_t i = 0; i < all.size() && !HasFailure(); i += step) {
      operands.device_c().upload();
      ASSERT_TRUE(succeeds(matmul(gemm, operands, all[i].algo))) << gemm;
      operands.expect_result(std::string(", ").append(bwgemmKernelName(all[i].kernel)));
    }
  }
}

TEST_F(Autotune, LeavesOneProductBehind) {
  for (const bool has_stream : {false, true}) {
    const Stream stream;
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), has_stream ? stream.get() : nullptr)));
    for (const GemmCase& gemm : tuned_problems()) {
      Operands operands(gemm);
      std::int64_t algo = 0;
      ASSERT_TRUE(succeeds(tune(gemm, operands, &algo))) << gemm;
      EXPECT_GT(algo, 0);
      operands.expect_result(", tuned");
      // The choice serves, by its number and because it is remembered.
      for (const std::int64_t number : {algo, std::int64_t{-1}}) {
        operands.device_c().upload();
        ASSERT_TRUE(succeeds(matmul(gemm, operands, number))) << gemm;
        operands.expect_result(", after tuning");
      }
    }
    ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), nullptr)));
  }
}

TEST_F(Autotune, KeepsToBatchInvariance) {
  ASSERT_TRUE(succeeds(bwgemmSetDeterminism(handle(), BWGEMM_DETERMINISM_BATCH_INVARIANT)));
  const GemmCase gemm{.transa = BWGEMM_OP_T, .m = 8, .n = 64, .k = 2048, .ld_multiple = 8};
  Operands operands(gemm);
  for (const bwgemmMatmulAlgo_t& algo : algos(gemm, operands)) EXPECT_EQ(algo.isBatchInvariant, 1);
  std::int64_t found = 0;
  ASSERT_TRUE(succeeds(tune(gemm, operands, &found)));
  bool is_listed = false;
  for (const bwgemmMatmulAlgo_t& algo : algos(gemm, operands)) is_listed |= algo.algo == found;
  EXPECT_TRUE(is_listed);
}

}  // namespace
}  // namespace bwgemm::test
