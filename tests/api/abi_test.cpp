// SPDX-License-Identifier: Apache-2.0
// The binary interface of version 1 as numbers that never change: enumerators (those of cuBLAS and
// cudaDataType), sizes, and the signatures of every function. Symbols and their version node are
// checked on the file, in build/library_test.py.
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

#include "api/abi_header_c.h"
#include "bwgemm/bwgemm.h"

namespace {

const std::map<std::string, long> golden = {
    {"BWGEMM_STATUS_SUCCESS", 0},
    {"BWGEMM_STATUS_NOT_INITIALIZED", 1},
    {"BWGEMM_STATUS_ALLOC_FAILED", 3},
    {"BWGEMM_STATUS_INVALID_VALUE", 7},
    {"BWGEMM_STATUS_ARCH_MISMATCH", 8},
    {"BWGEMM_STATUS_MAPPING_ERROR", 11},
    {"BWGEMM_STATUS_EXECUTION_FAILED", 13},
    {"BWGEMM_STATUS_INTERNAL_ERROR", 14},
    {"BWGEMM_STATUS_NOT_SUPPORTED", 15},
    {"BWGEMM_STATUS_LICENSE_ERROR", 16},
    {"BWGEMM_STATUS_NO_DRIVER", 100},
    {"BWGEMM_STATUS_DRIVER_TOO_OLD", 101},
    {"BWGEMM_STATUS_NO_DEVICE", 102},
    {"BWGEMM_OP_N", 0},
    {"BWGEMM_OP_T", 1},
    {"BWGEMM_OP_C", 2},
    {"BWGEMM_R_32F", 0},
    {"BWGEMM_R_16F", 2},
    {"BWGEMM_R_16BF", 14},
    {"BWGEMM_R_8F_E4M3", 28},
    {"BWGEMM_R_8F_E5M2", 29},
    {"BWGEMM_COMPUTE_32F", 68},
    {"BWGEMM_POINTER_MODE_HOST", 0},
    {"BWGEMM_POINTER_MODE_DEVICE", 1},
    {"BWGEMM_DETERMINISM_BITWISE", 0},
    {"BWGEMM_TUNE_OFF", 0},
    {"BWGEMM_TUNE_ON", 1},
    {"BWGEMM_TUNE_FROZEN", 2},
    {"BWGEMM_ORDER_COL", 0},
    {"BWGEMM_ORDER_ROW", 1},
    {"BWGEMM_BATCH_MODE_STRIDED", 0},
    {"BWGEMM_BATCH_MODE_POINTER_ARRAY", 1},
    {"BWGEMM_ACTIVATION_NONE", 0},
    {"BWGEMM_ACTIVATION_RELU", 1},
    {"BWGEMM_ACTIVATION_GELU_TANH", 2},
    {"BWGEMM_ACTIVATION_GELU_ERF", 3},
    {"BWGEMM_ACTIVATION_SILU", 4},
    {"BWGEMM_ACTIVATION_SIGMOID", 5},
    {"BWGEMM_ACTIVATION_CLAMP", 6},
    {"BWGEMM_GATE_NONE", 0},
    {"BWGEMM_GATE_INTERLEAVED", 1},
    {"BWGEMM_GATE_STACKED", 2},
    {"BWGEMM_AUX_NONE", 0},
    {"BWGEMM_AUX_STORE", 1},
    {"BWGEMM_AUX_DERIVATIVE", 2},
    {"BWGEMM_DIM_M", 0},
    {"BWGEMM_DIM_N", 1},
    {"BWGEMM_BIAS_GRADIENT_NONE", 0},
    {"BWGEMM_BIAS_GRADIENT_D_ROWS", 1},
    {"BWGEMM_BIAS_GRADIENT_D_COLUMNS", 2},
    {"BWGEMM_BIAS_GRADIENT_A", 3},
    {"BWGEMM_BIAS_GRADIENT_B", 4},
    {"sizeof bwgemmStatus_t", 4},
    {"sizeof bwgemmOperation_t", 4},
    {"sizeof bwgemmDataType_t", 4},
    {"sizeof bwgemmComputeType_t", 4},
    {"sizeof bwgemmPointerMode_t", 4},
    {"sizeof bwgemmDeterminism_t", 4},
    {"sizeof bwgemmTuneMode_t", 4},
    {"sizeof bwgemmOrder_t", 4},
    {"sizeof bwgemmBatchMode_t", 4},
    {"sizeof bwgemmActivation_t", 4},
    {"sizeof bwgemmGate_t", 4},
    {"sizeof bwgemmAuxMode_t", 4},
    {"sizeof bwgemmDimension_t", 4},
    {"sizeof bwgemmBiasGradient_t", 4},
    {"sizeof bwgemmHandle_t", 8},
    {"sizeof bwgemmMatmulDesc_t", 304},
    {"offsetof structSize", 0},
    {"offsetof computeType", 4},
    {"offsetof transa", 8},
    {"offsetof transb", 12},
    {"offsetof m", 16},
    {"offsetof n", 24},
    {"offsetof k", 32},
    {"offsetof Atype", 40},
    {"offsetof Btype", 44},
    {"offsetof Ctype", 48},
    {"offsetof Dtype", 52},
    {"offsetof Aorder", 56},
    {"offsetof Border", 60},
    {"offsetof Corder", 64},
    {"offsetof Dorder", 68},
    {"offsetof lda", 72},
    {"offsetof ldb", 80},
    {"offsetof ldc", 88},
    {"offsetof ldd", 96},
    {"offsetof batchCount", 104},
    {"offsetof strideA", 112},
    {"offsetof strideB", 120},
    {"offsetof strideC", 128},
    {"offsetof strideD", 136},
    {"offsetof batchMode", 144},
    {"offsetof activation", 148},
    {"offsetof gate", 152},
    {"offsetof biasDim", 156},
    {"offsetof biasType", 160},
    {"offsetof auxMode", 164},
    {"offsetof auxType", 168},
    {"offsetof reserved", 172},
    {"offsetof bias", 176},
    {"offsetof rowScale", 184},
    {"offsetof columnScale", 192},
    {"offsetof aux", 200},
    {"offsetof strideBias", 208},
    {"offsetof strideRowScale", 216},
    {"offsetof strideColumnScale", 224},
    {"offsetof strideAux", 232},
    {"offsetof ldaux", 240},
    {"offsetof algo", 248},
    {"offsetof workspace", 256},
    {"offsetof workspaceSize", 264},
    {"offsetof biasGradientOf", 272},
    {"offsetof biasGradientType", 276},
    {"offsetof biasGradient", 280},
    {"offsetof strideBiasGradient", 288},
    {"offsetof clampLow", 296},
    {"offsetof clampHigh", 300},
    {"BWGEMM_VERSION_MAJOR", 1},
};

TEST(Abi, ValuesAsACompilerOfCSeesThem) {
  EXPECT_EQ(static_cast<std::size_t>(bwgemm_abi_value_count), golden.size());
  for (int i = 0; i < bwgemm_abi_value_count; ++i) {
    const auto found = golden.find(bwgemm_abi_values[i].name);
    ASSERT_NE(found, golden.end()) << bwgemm_abi_values[i].name;
    EXPECT_EQ(bwgemm_abi_values[i].value, found->second) << found->first;
  }
}

// The types by which callers were compiled. A changed one is a new function, not a new signature.
using Status = bwgemmStatus_t;
using Handle = bwgemmHandle_t;
using Stream = CUstream_st*;

static_assert(std::is_same_v<decltype(bwgemmCreate), Status(Handle*)>);
static_assert(std::is_same_v<decltype(bwgemmDestroy), Status(Handle)>);
static_assert(std::is_same_v<decltype(bwgemmSetStream), Status(Handle, Stream)>);
static_assert(std::is_same_v<decltype(bwgemmGetStream), Status(Handle, Stream*)>);
static_assert(std::is_same_v<decltype(bwgemmSetWorkspace), Status(Handle, void*, size_t)>);
static_assert(std::is_same_v<decltype(bwgemmGetWorkspace), Status(Handle, void**, size_t*)>);
static_assert(std::is_same_v<decltype(bwgemmSetPointerMode), Status(Handle, bwgemmPointerMode_t)>);
static_assert(std::is_same_v<decltype(bwgemmGetPointerMode), Status(Handle, bwgemmPointerMode_t*)>);
static_assert(std::is_same_v<decltype(bwgemmSetSmCountTarget), Status(Handle, int)>);
static_assert(std::is_same_v<decltype(bwgemmGetSmCountTarget), Status(Handle, int*)>);
static_assert(std::is_same_v<decltype(bwgemmSetDeterminism), Status(Handle, bwgemmDeterminism_t)>);
static_assert(std::is_same_v<decltype(bwgemmGetDeterminism), Status(Handle, bwgemmDeterminism_t*)>);
static_assert(std::is_same_v<decltype(bwgemmSetTuneMode), Status(Handle, bwgemmTuneMode_t)>);
static_assert(std::is_same_v<decltype(bwgemmGetTuneMode), Status(Handle, bwgemmTuneMode_t*)>);
static_assert(std::is_same_v<decltype(bwgemmSetProgrammaticLaunch), Status(Handle, int)>);
static_assert(std::is_same_v<decltype(bwgemmGetProgrammaticLaunch), Status(Handle, int*)>);
static_assert(std::is_same_v<decltype(bwgemmGetVersion), int()>);
static_assert(std::is_same_v<decltype(bwgemmGetBuildInfo), const char*()>);
static_assert(std::is_same_v<decltype(bwgemmStatusName), const char*(Status)>);
static_assert(std::is_same_v<decltype(bwgemmStatusString), const char*(Status)>);
static_assert(std::is_same_v<decltype(bwgemmGetLastErrorString), const char*()>);
static_assert(std::is_same_v<decltype(bwgemmKernelCount), int()>);
static_assert(std::is_same_v<decltype(bwgemmKernelName), const char*(int)>);

using Op = bwgemmOperation_t;
using Type = bwgemmDataType_t;
using Int = int64_t;
using Typed = Status(Handle, Op, Op, Int, Int, Int, const float*, const void*, Int, const void*,
                     Int, const float*, void*, Int);
static_assert(std::is_same_v<decltype(bwgemmBf16), Typed>);
static_assert(std::is_same_v<decltype(bwgemmF16), Typed>);
static_assert(std::is_same_v<decltype(bwgemmGemmEx),
                             Status(Handle, Op, Op, Int, Int, Int, const void*, const void*, Type,
                                    Int, const void*, Type, Int, const void*, void*, Type, Int,
                                    bwgemmComputeType_t, int)>);
static_assert(std::is_same_v<decltype(bwgemmGetWorkspaceSize),
                             Status(Handle, Op, Op, Int, Int, Int, const void*, const void*, Type,
                                    Int, const void*, Type, Int, const void*, void*, Type, Int,
                                    bwgemmComputeType_t, int, size_t*)>);
static_assert(std::is_same_v<decltype(bwgemmExplain),
                             Status(Handle, Op, Op, Int, Int, Int, const void*, const void*, Type,
                                    Int, const void*, Type, Int, const void*, void*, Type, Int,
                                    bwgemmComputeType_t, int, char*, size_t)>);
static_assert(std::is_same_v<decltype(bwgemmGemmStridedBatchedEx),
                             Status(Handle, Op, Op, Int, Int, Int, const void*, const void*, Type,
                                    Int, Int, const void*, Type, Int, Int, const void*, void*, Type,
                                    Int, Int, Int, bwgemmComputeType_t, int)>);

using Desc = const bwgemmMatmulDesc_t*;
using In = const void*;
static_assert(std::is_same_v<decltype(bwgemmGemmBatchedEx),
                             Status(Handle, Op, Op, Int, Int, Int, const void*, const void* const*,
                                    Type, Int, const void* const*, Type, Int, const void*,
                                    void* const*, Type, Int, Int, bwgemmComputeType_t, int)>);
static_assert(
    std::is_same_v<decltype(bwgemmMatmul), Status(Handle, Desc, In, In, In, In, In, void*)>);
static_assert(std::is_same_v<decltype(bwgemmMatmulGetWorkspaceSize),
                             Status(Handle, Desc, In, In, In, In, In, void*, size_t*)>);
static_assert(std::is_same_v<decltype(bwgemmMatmulExplain),
                             Status(Handle, Desc, In, In, In, In, In, void*, char*, size_t)>);
static_assert(std::is_same_v<decltype(bwgemmPreload), Status(Handle, Desc)>);

// Members have fixed widths and one set of types.
static_assert(std::is_standard_layout_v<bwgemmMatmulDesc_t> &&
              std::is_trivial_v<bwgemmMatmulDesc_t>);

#if __has_builtin(__builtin_clear_padding)
// Which keys of calls would hold.
TEST(Abi, TheStructHasNoPadding) {
  bwgemmMatmulDesc_t desc;
  std::memset(&desc, 0xff, sizeof desc);
  __builtin_clear_padding(&desc);
  const std::string bytes(reinterpret_cast<const char*>(&desc), sizeof desc);
  EXPECT_EQ(bytes, std::string(sizeof desc, '\xff'));
}
#endif

// What INIT does not name, a later version would have to name here too.
TEST(Abi, TheInitialStructIsAPlainProduct) {
  const bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  EXPECT_EQ(desc.structSize, sizeof desc);
  EXPECT_EQ(desc.computeType, BWGEMM_COMPUTE_32F);
  EXPECT_EQ(desc.batchCount, 1);
  EXPECT_EQ(desc.algo, -1);
  for (const std::int32_t type :
       {desc.Atype, desc.Btype, desc.Ctype, desc.Dtype, desc.biasType, desc.auxType})
    EXPECT_EQ(type, BWGEMM_R_16BF);
  EXPECT_EQ(desc.clampLow, std::numeric_limits<float>::lowest());
  EXPECT_EQ(desc.clampHigh, std::numeric_limits<float>::max());
  bwgemmMatmulDesc_t rest = desc;
  rest.clampLow = rest.clampHigh = 0;
  rest.structSize = 0, rest.computeType = 0, rest.batchCount = 0, rest.algo = 0;
  rest.Atype = rest.Btype = rest.Ctype = rest.Dtype = rest.biasType = rest.auxType = 0;
  const bwgemmMatmulDesc_t zero{};
  EXPECT_EQ(std::memcmp(&rest, &zero, sizeof zero), 0) << "all else is zero";
}

}  // namespace
