// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>

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

void check_supported_type(const char* name, Dtype type, Dtype a) {
  if (type != a && type != Dtype::f32)
    unsupported(name, " is ", enumerator(type), "; supported are Atype, ", enumerator(a),
                ", and BWGEMM_R_32F");
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

Matrix matrix_of(const Operand& operand, Dtype type, Order order, std::int64_t batch) {
  return {operand.is_touched ? operand.data : nullptr, type, order, operand.ld,
          batch > 1 && !operand.is_array ? operand.stride : 0};
}

}  // namespace bwgemm
