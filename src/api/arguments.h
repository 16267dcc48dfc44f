// SPDX-License-Identifier: Apache-2.0
// Arguments: a call's arguments, split into a key and the addresses and scalars. Calls that differ
// only in addresses and values of scalars have the same key.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bwgemm/bwgemm.h"
#include "program/part.h"

namespace bwgemm {

// Members of bwgemmMatmulDesc_t behind the product's, which most calls leave as
// BWGEMM_MATMUL_DESC_INIT has them. A group that is as there is absent.
namespace group {
inline constexpr unsigned epilogue = 1;  // gate to ldaux
inline constexpr unsigned settings = 2;  // algo to workspaceSize
inline constexpr unsigned gradient = 4;  // biasGradientOf to strideBiasGradient
inline constexpr unsigned clamp = 8;     // clampLow, clampHigh
}  // namespace group

// Behind a word that says which they are: the words of bwgemmMatmulDesc_t but those of absent
// groups; or the parameters of an entry that cuBLAS has, in fewer words, those of a batch only
// where there is one. Of pointers a key has whether they are null and their alignment, up to 256
// bytes or to an element of a vector, of unaligned A and B their place in 16 bytes, and whether D
// is C; of scalars whether they are on the device or known zeros.
struct CallKey {
  static constexpr std::size_t most_words = sizeof(bwgemmMatmulDesc_t) / sizeof(std::uint64_t) + 1;
  static constexpr std::size_t gemm_words = 10, batched_gemm_words = 15;

  std::size_t count;
  std::array<std::uint64_t, most_words> words;  // so many of them are filled

  CallKey() {}  // fills nothing: a call is too short for that
  CallKey(const CallKey& other) { *this = other; }
  CallKey& operator=(const CallKey& other);

  std::uint64_t hash() const;
  bool operator==(const CallKey& other) const;
};

struct Arguments {
  CallKey key;    // without the first word: see keyed()
  Values values;  // what the call's program is moved to; without scalars
  const void *alpha, *beta;
  std::uint64_t workspace_size;  // of present settings, whose workspace is in the values
  std::int64_t algo;             // of absent settings: -1, or cuBLAS's
  unsigned groups;
  bool is_gemm;     // of an entry that cuBLAS has: C is D, beta is not null
  bool is_nothing;  // D has no element, or the call is not legal

  bool has(unsigned wanted) const { return (groups & wanted) != 0; }
};

// The parameters of bwgemmGemmStridedBatchedEx in their order. Other entries that cuBLAS has are
// special cases. Nothing but Arguments is made of them.
struct GemmArguments {
  bwgemmOperation_t transa, transb;
  std::int64_t m, n, k;
  const void* alpha;
  const void* a;
  bwgemmDataType_t a_type;
  std::int64_t lda, stride_a;
  const void* b;
  bwgemmDataType_t b_type;
  std::int64_t ldb, stride_b;
  const void* beta;
  void* c;
  bwgemmDataType_t c_type;
  std::int64_t ldc, stride_c;
  std::int64_t batch_count;
  bwgemmComputeType_t compute_type = BWGEMM_COMPUTE_32F;
  int algo = -1;
  bwgemmBatchMode_t batch_mode = BWGEMM_BATCH_MODE_STRIDED;
};

// In the short form of the key. Inline, so that each parameter is written to its place and nowhere
// else, in whole words, as the key is read.
[[gnu::always_inline]] inline Arguments arguments_of(const GemmArguments& given) {
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const auto pair = [](auto first, auto second) {
    return std::uint64_t{static_cast<std::uint32_t>(first)} |
           std::uint64_t{static_cast<std::uint32_t>(second)} << 32;
  };
  Arguments arguments;
  std::uint64_t* to = arguments.key.words.data() + 1;
  *to++ = pair(given.compute_type, given.transa);
  *to++ = pair(given.transb, given.a_type);
  *to++ = pair(given.b_type, given.c_type);
  *to++ = word(given.m), *to++ = word(given.n), *to++ = word(given.k);
  *to++ = word(given.lda), *to++ = word(given.ldb), *to++ = word(given.ldc);
  const bool is_batched = given.batch_count != 1 || given.batch_mode != BWGEMM_BATCH_MODE_STRIDED ||
                          (given.stride_a | given.stride_b | given.stride_c) != 0;
  if (is_batched) {
    *to++ = word(given.stride_a), *to++ = word(given.stride_b), *to++ = word(given.stride_c);
    *to++ = word(given.batch_count);
    *to++ = pair(given.batch_mode, 0);
  }
  arguments.key.count = is_batched ? CallKey::batched_gemm_words : CallKey::gemm_words;
  arguments.is_nothing = given.m <= 0 || given.n <= 0 || given.batch_count <= 0;
  arguments.alpha = given.alpha, arguments.beta = given.beta;
  arguments.values.set(Argument::a, given.a);
  arguments.values.set(Argument::b, given.b);
  arguments.values.set(Argument::c, given.c);
  arguments.values.set(Argument::d, given.c);
  arguments.algo = given.algo, arguments.groups = 0, arguments.is_gemm = true;
  return arguments;
}

// Log2 of the alignment, up to that of `most`; 16 for null.
inline std::uint64_t alignment_traits(const void* pointer, std::uintptr_t most = 256) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return address == 0 ? 16 : static_cast<std::uint64_t>(std::countr_zero(address | most));
}

// As bwgemmMatmul takes them. Error unless the struct is one of some version.
Arguments matmul_arguments(const bwgemmMatmulDesc_t* desc, const void* alpha, const void* a,
                           const void* b, const void* beta, const void* c, void* d);
// The struct that a key in long form stands for.
bwgemmMatmulDesc_t matmul_desc(const Arguments& arguments);

// As bwgemmMatmul takes it, in the form of this version. The key may have either form.
bwgemmMatmulDesc_t desc_of(const Arguments& arguments);

// Fills the first word of the key, and the scalars in the values. False for calls that launch
// nothing or lack a scalar.
bool keyed(Arguments& arguments, bwgemmPointerMode_t pointer_mode);

}  // namespace bwgemm
