// SPDX-License-Identifier: Apache-2.0
// A walk over two matrices of which one lies by rows and the other by columns.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bwgemm::test {

// Calls visit(row, column) for all, block by block, so that lines of both stay in the cache.
template <class Visit>
void for_each_in_blocks(std::int64_t rows, std::int64_t columns, const Visit& visit) {
  constexpr std::int64_t block = 16;
  for (std::int64_t column_block = 0; column_block < columns; column_block += block)
    for (std::int64_t row_block = 0; row_block < rows; row_block += block)
      for (std::int64_t column = column_block; column < std::min(column_block + block, columns);
           ++column)
        for (std::int64_t row = row_block; row < std::min(row_block + block, rows); ++row)
          visit(row, column);
}

}  // namespace bwgemm::test
