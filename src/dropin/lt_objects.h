// SPDX-License-Identifier: Apache-2.0
// What the descriptor and the layouts of a call say.
#pragma once

#include "dropin/cublas.h"
#include "dropin/lt_images.h"

namespace bwgemm::dropin {

struct LtDesc {
  bool is_good;   // all of it could be read
  bool is_plain;  // nothing else is other than in new descriptors
  int compute, scale_type, pointer_mode, transa, transb, epilogue, sm_count_target;
  int bias_type, aux_type;  // -1: that of D
  std::int64_t bias_stride, aux_ld, aux_stride;
  void *bias, *aux;
};

struct LtLayout {
  bool is_good, is_plain;
  int type, order;
  std::uint64_t rows, columns;
  std::int64_t ld, stride;
  std::int32_t batch;
};

// What was read of objects with the same images.
struct LtCache {
  LtTable<LtDescImage, LtDesc, 16> descs;
  LtTable<LtLayoutImage, LtLayout, 64> layouts;
};

// `cache` may be null. It must be for the same copy of cuBLASLt each time.
LtDesc read_desc(const Cublas& cublas, cublasLtMatmulDesc_t from, LtCache* cache);
LtLayout read_layout(const Cublas& cublas, cublasLtMatrixLayout_t from, LtCache* cache);

// One attribute that is a number of 32 bits. False if it cannot be read.
bool read_compute(const Cublas& cublas, cublasLtMatmulDesc_t from, int& compute);
bool read_type(const Cublas& cublas, cublasLtMatrixLayout_t from, int& type);

}  // namespace bwgemm::dropin
