// SPDX-License-Identifier: Apache-2.0
// wgmma.*: the order between accumulator registers, asynchronous groups and the threads that use
// them. The multiplications are generated (wgmma_mma.h). How they say their types is written here.
#pragma once

#include <utility>

#include "core/element.h"
#include "device/ptx/attributes.h"

namespace bwgemm::ptx {

BWGEMM_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

BWGEMM_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
BWGEMM_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

constexpr int length(const char* text) {
  int letters = 0;
  while (text[letters] != '\0') ++letters;
  return letters;
}

// The name of a type, which is also PTX's. Inline assembly takes words as arrays only.
template <Dtype type, class = std::make_integer_sequence<int, length(name(type))>>
struct Word;
template <Dtype type, int... letters>
struct Word<type, std::integer_sequence<int, letters...>> {
  static constexpr char text[] = {name(type)[letters]..., '\0'};
};

// The last operands of a multiplication of 16-bit types: whether A and B lie along m and n. Others
// have no such operands, and lie along k.
template <bool are_said, int transpose_a, int transpose_b>
inline constexpr char transposes[] = {',', ' ', '0' + transpose_a, ',', ' ', '0' + transpose_b,
                                      '\0'};
template <>
inline constexpr char transposes<false, 0, 0>[] = "";

}  // namespace bwgemm::ptx
