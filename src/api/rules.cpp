// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "api/validate.h"

namespace bwgemm {
namespace {

__extension__ using Wide = __int128;

struct TypeName {
  bwgemmDataType_t value;
  Dtype type;
  const char* enumerator;
};
constexpr TypeName type_names[] = {{BWGEMM_R_32F, Dtype::f32, "BWGEMM_R_32F"},
                                   {BWGEMM_R_16F, Dtype::f16, "BWGEMM_R_16F"},
                                   {BWGEMM_R_16BF, Dtype::bf16, "BWGEMM_R_16BF"},
                                   {BWGEMM_R_8F_E4M3, Dtype::e4m3, "BWGEMM_R_8F_E4M3"},
                                   {BWGEMM_R_8F_E5M2, Dtype::e5m2, "BWGEMM_R_8F_E5M2"}};

void check_address(const Operand& operand, Dtype type) {
  if (!operand.is_touched) return;
  const OperandNames& names = operand.names;
  require(operand.data != nullptr, names.data, " is null but will be ", operand.access);
  const auto address = reinterpret_cast<std::uintptr_t>(operand.data);
  if (operand.is_array)
    require(address % sizeof(void*) == 0, names.data, " is address ", address,
            " but must be a multiple of ", sizeof(void*), ", the size of a pointer");
  else
    require((address & static_cast<unsigned>(size_bytes(type) - 1)) == 0, names.data,
            " is address ", address, " but must be a multiple of ", size_bytes(type),
            ", the size of its ", enumerator(type), " elements");
}

// Whether the last element lies beyond what 63 bits address. Cannot overflow: the factors are below
// 2^63, so their products are below 2^126.
bool spans_too_much(const Operand& operand, std::int64_t batch, Dtype type) {
  if (operand.rows == 0 || operand.columns == 0) return false;
  const Wide in_front = operand.is_array ? Wide{0} : (Wide{batch} - 1) * operand.stride;
  const Wide elements = in_front + Wide{operand.lines() - 1} * operand.ld + operand.contiguous();
  return elements > std::numeric_limits<std::int64_t>::max() / size_bytes(type);
}

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

const char* enumerator(Dtype type) {
  return std::find_if(std::begin(type_names), std::end(type_names),
                      [type](const TypeName& name) { return name.type == type; })
      ->enumerator;
}

void check_not_negative(const char* name, std::int64_t value) {
  require(value >= 0, name, " is ", value, " but must be at least 0");
}

void check_enumerator(const char* name, std::int32_t value, std::int32_t last, const char* type) {
  require(value >= 0 && value <= last, name, " is ", value, " but must be a ", type, ", 0 to ",
          last);
}

Dtype checked_type(const char* name, std::int32_t value) {
  const auto* const found =
      std::find_if(std::begin(type_names), std::end(type_names),
                   [value](const TypeName& one) { return one.value == value; });
  require(found != std::end(type_names), name, " is ", value, " but must be a bwgemmDataType_t");
  return found->type;
}

void check_struct_size(const char* name, std::uint32_t value,
                       std::initializer_list<std::uint32_t> earlier, std::uint32_t current) {
  if (value >= current && value <= last_struct_size) return;
  std::string sizes;
  for (const std::uint32_t size : earlier) {
    if (value == size) return;
    if (size != current) sizes += text(size, " or ");
  }
  require(false, name, " is ", value, " but must be ", sizes, current, " to ", last_struct_size);
}

Dtype check_operand(const Operand& operand, std::int64_t batch) {
  const OperandNames& names = operand.names;
  require(!operand.is_touched || operand.data != nullptr, names.data, " is null but will be ",
          operand.access);
  const Dtype type = checked_type(names.type, operand.type);
  check_address(operand, type);
  const std::int64_t least = std::max<std::int64_t>(1, operand.contiguous());
  require(operand.ld >= least, names.ld, " is ", operand.ld, " but must be at least max(1, ",
          operand.is_column_order() ? "rows" : "columns", " of ", names.data,
          " as stored = ", operand.contiguous(), ")");
  if (!operand.is_array) check_not_negative(names.stride, operand.stride);
  require(!operand.is_touched || !spans_too_much(operand, batch, type), names.data, " with ",
          names.ld, " ", operand.ld, " and ", names.stride, " ", operand.stride,
          " ends beyond 2^63 bytes");
  return type;
}

void check_batches_apart(const Operand& operand, std::int64_t batch) {
  const OperandNames& names = operand.names;
  require(!operand.is_touched || operand.is_array ||
              !batches_overlap(operand.contiguous(), operand.lines(), operand.ld, operand.stride,
                               batch),
          names.stride, " is ", operand.stride, ", with which batches of ", names.data,
          " overlap (", operand.rows, " x ", operand.columns, ", ", names.ld, " ", operand.ld,
          ", batchCount ", batch, ")");
}

Matrix matrix_of(const Operand& operand, Dtype type, Order order, std::int64_t batch) {
  return {operand.is_touched ? operand.data : nullptr, type, order, operand.ld,
          batch > 1 && !operand.is_array ? operand.stride : 0};
}

}  // namespace bwgemm
