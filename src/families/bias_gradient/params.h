// SPDX-License-Identifier: Apache-2.0
// BiasGradientParams: the one argument of the kernels that add up the rows or the columns of a
// matrix, and what the host must know to launch them.
//
// The order of the additions follows from the number of terms alone. Terms are cut into chunks. In
// a chunk, each of `block` sums adds the terms whose numbers are equal modulo `block`, in order. A
// binary tree of neighbours adds these sums. Then the chunks are added in order, from zero.
#pragma once

#include <cstdint>

#include "core/kernel_config.h"
#include "core/kernel_name.h"
#include "core/problem.h"

namespace bwgemm {

inline constexpr int bias_gradient_kernel = -2;  // see families/helpers.h

namespace bias_gradient {

inline constexpr int threads = 256;
inline constexpr int block = 256;        // terms that a CTA takes at once
inline constexpr int unit_outputs = 64;  // sums of one CTA
inline constexpr std::int64_t least_chunk = 512;
inline constexpr std::int64_t most_chunks = 128;  // longer chunks from there on

// A power of two.
constexpr std::int64_t chunk_terms(std::int64_t terms) {
  std::int64_t chunk = least_chunk;
  while (terms > most_chunks * chunk) chunk *= 2;
  return chunk;
}

constexpr KernelName kernel_name(Arch arch) {
  KernelName text;
  return text.add("bwgemm_").add(name(arch)).add("_sums");
}

}  // namespace bias_gradient

struct BiasGradientParams {
  const void* matrix;       // of batch 0, or a device array of pointers, one for each batch
  void* to;                 // of batch 0
  float* partials;          // a unit of sums for each chunk of each unit; parts > 1 only
  std::uint32_t* arrivals;  // for each unit, zero before and after the launch; parts > 1 only
  std::int64_t ld, batch_stride, to_batch_stride;  // elements
  std::int64_t outputs, terms;
  std::int64_t chunk;             // terms of each chunk but the last
  std::uint32_t chunks;           // 0: no terms
  std::uint32_t parts;            // CTAs that share the chunks of a unit
  std::uint32_t chunks_per_part;  // 1 if there are several parts
  std::uint32_t units, batch;     // units of one batch
  bool terms_lie_together;        // else outputs do
  bool is_pointer_array;
  Dtype type, to_type;
};

}  // namespace bwgemm
