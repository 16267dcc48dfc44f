// SPDX-License-Identifier: Apache-2.0
#include "api/rules.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "api/batch_overlap.h"

namespace bwgemm {
namespace {

std::optional<Dtype> known_type(std::int32_t type) {
  switch (type) {
    case BWGEMM_R_32F: return Dtype::f32;
    case BWGEMM_R_16F: return Dtype::f16;
    case BWGEMM_R_16BF: return Dtype::bf16;
    case BWGEMM_R_8F_E4M3: return Dtype::e4m3;
    case BWGEMM_R_8F_E5M2: return Dtype::e5m2;
    default: return std::nullopt;
  }
}

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
  __extension__ using Wide = __int128;
  if (operand.rows == 0 || operand.columns == 0) return false;
  const Wide in_front = operand.is_array ? Wide{0} : (Wide{batch} - 1) * operand.stride;
  const Wide elements = in_front + Wide{operand.lines() - 1} * operand.ld + operand.contiguous();
  return elements > std::numeric_limits<std::int64_t>::max() / size_bytes(type);
}

}  // namespace

const char* enumerator(Dtype type) {
  switch (type) {
    case Dtype::f32: return "BWGEMM_R_32F";
    case Dtype::f16: return "BWGEMM_R_16F";
    case Dtype::bf16: return "BWGEMM_R_16BF";
    case Dtype::e4m3: return "BWGEMM_R_8F_E4M3";
    case Dtype::e5m2: return "BWGEMM_R_8F_E5M2";
  }
  return "?";
}

void check_not_negative(const char* name, std::int64_t value) {
  require(value >= 0, name, " is ", value, " but must be at least 0");
}

void check_enumerator(const char* name, std::int32_t value, std::int32_t last, const char* type) {
  require(value >= 0 && value <= last, name, " is ", value, " but must be a ", type, ", 0 to ",
          last);
}

Dtype checked_type(const char* name, std::int32_t value) {
  const auto type = known_type(value);
  require(type.has_value(), name, " is ", value, " but must be a bwgemmDataType_t");
  return *type;
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
