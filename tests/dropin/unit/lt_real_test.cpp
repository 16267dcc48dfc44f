// SPDX-License-Identifier: Apache-2.0
// The reading of calls against a real cuBLASLt, where one is installed or BWGEMM_TEST_CUBLASLT
// names one. It makes and reads descriptors without a GPU.
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <memory>

#include "dropin/lt_read.h"

namespace bwgemm::test {
namespace {

using dropin::Call;
using dropin::Cublas;
using dropin::LtArguments;
using dropin::LtCall;
using dropin::Reason;

class DropinRealLt : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const named = std::getenv("BWGEMM_TEST_CUBLASLT");
    for (const char* path : {named, "libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13",
                             "libcublasLt.so.12"})
      if (library_ == nullptr && path != nullptr && *path != '\0')
        library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) GTEST_SKIP() << "no cuBLASLt is installed";
    find("cublasLtMatmulDescGetAttribute", cublas_.lt_getters.desc);
    find("cublasLtMatrixLayoutGetAttribute", cublas_.lt_getters.layout);
    find("cublasLtMatmulAlgoConfigGetAttribute", cublas_.lt_algo_config_get_attribute);
    find("cublasLtMatmulDescCreate", makers_.create_desc);
    find("cublasLtMatmulDescDestroy", makers_.destroy_desc);
    find("cublasLtMatrixLayoutCreate", makers_.create_layout);
    find("cublasLtMatrixLayoutDestroy", makers_.destroy_layout);
    find("cublasLtMatmulDescSetAttribute", makers_.set_desc);
    find("cublasLtMatrixLayoutSetAttribute", makers_.set_layout);
    find("cublasLtGetVersion", makers_.get_version);
    cublas_.lt_defaults = defaults_of(cublas_.lt_getters, makers_);
    ASSERT_TRUE(cublas_.lt_defaults.are_known);
    cublas_.lt_images = images_of(cublas_.lt_getters, makers_, cublas_.lt_defaults);
    EXPECT_EQ(cublas_.lt_images.tell, makers_.get_version() >= 130000);
    makers_.create_desc(&call_.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    makers_.create_layout(&call_.a_layout, CUDA_R_16BF, 192, 256, 200);
    makers_.create_layout(&call_.b_layout, CUDA_R_16BF, 192, 128, 201);
    makers_.create_layout(&call_.c_layout, CUDA_R_32F, 256, 128, 202);
    makers_.create_layout(&call_.d_layout, CUDA_R_16BF, 256, 128, 203);
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  }
  // The layouts are left behind: the process ends.

  template <class Value>
  void set(int attribute, const Value& value) {
    ASSERT_EQ(makers_.set_desc(call_.desc, static_cast<cublasLtMatmulDescAttributes_t>(attribute),
                               &value, sizeof value),
              CUBLAS_STATUS_SUCCESS)
        << attribute;
  }
  template <class Value>
  void set(cublasLtMatrixLayout_t layout, int attribute, const Value& value) {
    ASSERT_EQ(makers_.set_layout(layout, static_cast<cublasLtMatrixLayoutAttribute_t>(attribute),
                                 &value, sizeof value),
              CUBLAS_STATUS_SUCCESS)
        << attribute;
  }
  Reason read(LtCall& found) const { return read_call(call_, cublas_, cache_.get(), false, found); }

  LtArguments call_{};

 private:
  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    ASSERT_NE(function, nullptr) << name;
  }

  void* library_ = nullptr;
  Cublas cublas_{};
  dropin::LtMakers makers_{};
  std::unique_ptr<dropin::LtCache> cache_ = std::make_unique<dropin::LtCache>();
};

TEST_F(DropinRealLt, NewObjectsAreServed) {
  LtCall found;
  ASSERT_EQ(read(found), Reason::none);
  const Call& call = found.call;
  EXPECT_EQ(call.m, 256);
  EXPECT_EQ(call.n, 128);
  EXPECT_EQ(call.k, 192);
  EXPECT_EQ(call.batch, 1);
  EXPECT_EQ(call.transa, CUBLAS_OP_T);
  EXPECT_EQ(call.transb, CUBLAS_OP_N);
  EXPECT_EQ(call.a.ld, 200);
  EXPECT_EQ(call.b.ld, 201);
  EXPECT_EQ(call.c.ld, 202);
  EXPECT_EQ(call.output().ld, 203);
  EXPECT_EQ(call.c.type, CUDA_R_32F);
  EXPECT_EQ(call.output().type, CUDA_R_16BF);
  EXPECT_EQ(call.epilogue.kind, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(found.settings.pointer_mode, 0);
  EXPECT_EQ(found.settings.sm_count_target, 0);
}

TEST_F(DropinRealLt, EveryAttributeThatIsServed) {
  void* const memory = reinterpret_cast<void*>(0x7f0000000000);
  for (const cublasLtMatrixLayout_t layout :
       {call_.a_layout, call_.b_layout, call_.c_layout, call_.d_layout}) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 3);
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{1} << 40);
  }
  set(call_.b_layout, CUBLASLT_MATRIX_LAYOUT_ORDER, 1);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, 1);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory);
  set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, std::int64_t{256});
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 0);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{264});
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, std::int64_t{1} << 33);
  set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 100);
  LtCall found;
  ASSERT_EQ(read(found), Reason::none);
  const Call& call = found.call;
  EXPECT_EQ(call.batch, 3);
  EXPECT_EQ(call.a.stride, std::int64_t{1} << 40);
  EXPECT_EQ(call.output().stride, std::int64_t{1} << 40);
  EXPECT_EQ(orders_of(call), 100);
  EXPECT_EQ(call.epilogue.kind, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(call.epilogue.bias, memory);
  EXPECT_EQ(call.epilogue.bias_type, CUDA_R_32F);
  EXPECT_EQ(call.epilogue.bias_stride, 256);
  EXPECT_EQ(call.epilogue.aux, memory);
  EXPECT_EQ(call.epilogue.aux_type, CUDA_R_16BF);
  EXPECT_EQ(call.epilogue.aux_ld, 264);
  EXPECT_EQ(call.epilogue.aux_stride, std::int64_t{1} << 33);
  EXPECT_EQ(found.settings.pointer_mode, 1);
  EXPECT_EQ(found.settings.sm_count_target, 100);
}

TEST_F(DropinRealLt, WhatIsNotServedIsSeen) {
  void* const memory = reinterpret_cast<void*>(0x7f0000000000);
  LtCall found;
  for (const int attribute : {17, 18, 19, 20, 21, 23, 24, 36}) {
    set(attribute, memory);
    EXPECT_EQ(read(found), Reason::descriptor) << attribute;
    set(attribute, static_cast<void*>(nullptr));
    EXPECT_EQ(read(found), Reason::none) << attribute;
  }
  set(25, std::int8_t{1});  // fast accumulation
  EXPECT_EQ(read(found), Reason::descriptor);
  set(25, std::int8_t{0});
  set(6, 0);  // a triangle
  EXPECT_EQ(read(found), Reason::descriptor);
  set(6, 2);
  set(call_.c_layout, 7, std::int64_t{1} << 20);  // planes
  EXPECT_EQ(read(found), Reason::layout);
}

// An algorithm of zeros does not split k, so bwgemm must not split it either; the workspace stays
// known, because the tuner replays it.
TEST_F(DropinRealLt, SplitsOfAlgorithms) {
  const cublasLtMatmulAlgo_t zeros{};
  call_.workspace = reinterpret_cast<void*>(0x7f0000000000);
  call_.workspace_size = 1 << 20;
  LtCall found;
  ASSERT_EQ(read(found), Reason::none);
  EXPECT_EQ(found.settings.workspace, call_.workspace);
  EXPECT_TRUE(found.settings.splits_k);
  call_.algo = &zeros;
  ASSERT_EQ(read(found), Reason::none);
  EXPECT_EQ(found.settings.workspace, call_.workspace);
  EXPECT_FALSE(found.settings.splits_k);
}

}  // namespace
}  // namespace bwgemm::test
