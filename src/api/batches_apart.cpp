// SPDX-License-Identifier: Apache-2.0
// Whether matrices of a strided batch overlap.
#include <cstdint>
#include <optional>

#include "api/validate.h"

namespace bwgemm {
namespace {

__extension__ using Wide = __int128;

// The least x >= 0 with low <= step * x mod modulus <= high, for 0 <= low <= high < modulus and
// 0 <= step < modulus. Each step of Euclid's algorithm turns the question into one about a smaller
// modulus, whose answer says how often step * x wraps around this one.
std::optional<Wide> first_within(Wide step, Wide modulus, Wide low, Wide high) {
  if (low == 0) return Wide{0};
  if (step == 0) return std::nullopt;
  const Wide without_wrap = (low + step - 1) / step;
  if (without_wrap * step <= high) return without_wrap;
  // No multiple of step lies in [low, high]: then step * x = modulus * wraps + [low, high] for the
  // least number of wraps that leaves a multiple of step in the range.
  const Wide reduced_low = (step - high % step) % step;
  const Wide reduced_high = (step - low % step) % step;
  const auto wraps = first_within(modulus % step, step, reduced_low, reduced_high);
  if (!wraps) return std::nullopt;
  return (*wraps * modulus + low + step - 1) / step;
}

// Whether two matrices of a strided batch share an element: columns of `rows` elements, `ld` >=
// rows apart; matrices `stride` >= 0 apart; all elements addressable by 63 bits. Batches may also
// lie interleaved, such as side by side within one leading dimension.
//
// Matrices `apart` in the batch meet where apart * stride is less than `rows` away from a multiple
// `columns_apart` of ld. The least such `apart` has the least `columns_apart` too.
bool batches_overlap(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t stride,
                     std::int64_t batch) {
  if (batch < 2) return false;
  if (stride < rows) return true;                             // neighbours meet in column 0
  if (stride >= Wide{columns - 1} * ld + rows) return false;  // one behind the other
  if (Wide{batch - 1} * stride + rows <= ld) return false;    // all within one column
  const Wide window = 2 * (Wide{rows} - 1);
  if (window + 1 >= ld) return true;
  // apart = x + 1: ask for (stride * (x + 1) + rows - 1) mod ld in [0, window], shifted so that the
  // constant part moves into the bounds.
  const Wide step = stride % ld;
  const Wide start = (step + rows - 1) % ld;
  if (start <= window) return true;
  const auto more = first_within(step, ld, ld - start, ld - start + window);
  if (!more) return false;
  const Wide apart = *more + 1;
  const Wide columns_apart = (apart * stride + rows - 1) / ld;
  return apart < batch && columns_apart < columns;
}

}  // namespace

void check_batches_apart(const Operand& operand, std::int64_t batch) {
  const OperandNames& names = operand.names;
  require(!operand.is_touched || operand.is_array ||
              !batches_overlap(operand.contiguous(), operand.lines(), operand.ld, operand.stride,
                               batch),
          names.stride, " is ", operand.stride, ", with which batches of ", names.data,
          " overlap (", operand.rows, " x ", operand.columns, ", ", names.ld, " ", operand.ld,
          ", batchCount ", batch, ")");
}

}  // namespace bwgemm
