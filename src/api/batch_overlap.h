// SPDX-License-Identifier: Apache-2.0
// batches_overlap: whether two matrices of a strided batch share an element. Batches may also lie
// interleaved, such as side by side within one leading dimension.
#pragma once

#include <cstdint>

namespace bwgemm {

// Columns of `rows` elements, `ld` >= rows apart; matrices `stride` >= 0 apart; all elements
// addressable by 63 bits.
bool batches_overlap(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t stride,
                     std::int64_t batch);

}  // namespace bwgemm
