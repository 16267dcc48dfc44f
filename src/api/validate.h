// SPDX-License-Identifier: Apache-2.0
// validated: the C arguments of a product -> Problem. The only judge of what callers pass in; what
// is behind it is legal, canonical and supported by type. Below it the rules by which single
// arguments are judged, of this and of other entries, and how a broken one is told (rules.cpp).
#pragma once

#include <cstdint>
#include <initializer_list>

#include "api/arguments.h"
#include "bwgemm/bwgemm.h"
#include "core/element.h"
#include "core/error.h"
#include "core/problem.h"
#include "core/text.h"

namespace bwgemm {

struct ValidProblem : Problem {
  bool is_exchanged = false;  // its A is the call's B
};

// Error(INVALID_VALUE) names the first argument, in the order of bwgemmGemmEx and then of the
// struct, that breaks a rule; only then Error(NOT_SUPPORTED) what no kernel serves. An empty()
// problem has no pointers in it.
ValidProblem validated(const Arguments& arguments, bwgemmPointerMode_t pointer_mode);

// Error(INVALID_VALUE) whose text is the parts: the argument, its value, the rule.
template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) throw Error(BWGEMM_STATUS_INVALID_VALUE, text(parts...));
}

template <class... Parts>
[[noreturn]] void unsupported(const Parts&... parts) {
  throw Error(BWGEMM_STATUS_NOT_SUPPORTED, text(parts...));
}

// What errors call a matrix and its members. A vector is a matrix of one column.
struct OperandNames {
  const char *data, *type, *ld, *stride;
};

// One matrix of the arguments, as stored.
struct Operand {
  OperandNames names;
  const char* access = "read";  // or "written"
  const void* data;
  std::int32_t type, order;    // bwgemmDataType_t, bwgemmOrder_t
  std::int64_t rows, columns;  // before op()
  std::int64_t ld, stride;
  bool is_touched = false;
  bool is_array = false;  // of pointers; the stride means nothing

  bool is_column_order() const { return order == BWGEMM_ORDER_COL; }
  std::int64_t contiguous() const { return is_column_order() ? rows : columns; }
  std::int64_t lines() const { return is_column_order() ? columns : rows; }
};

const char* enumerator(Dtype type);

void check_not_negative(const char* name, std::int64_t value);
// Requires an enumerator of 0..last.
void check_enumerator(const char* name, std::int32_t value, std::int32_t last, const char* type);
Dtype checked_type(const char* name, std::int32_t value);
// NOT_SUPPORTED unless the type is that of A or float.
void check_supported_type(const char* name, Dtype type, Dtype a);
// Requires a struct's size to be that of an earlier version, or at least that of this version, up
// to more than any version will have.
inline constexpr std::uint32_t last_struct_size = 4096;
void check_struct_size(const char* name, std::uint32_t value,
                       std::initializer_list<std::uint32_t> earlier, std::uint32_t current);

// In argument order: pointer, type, leading dimension, stride.
Dtype check_operand(const Operand& operand, std::int64_t batch);
// For what is written; in batches_apart.cpp.
void check_batches_apart(const Operand& operand, std::int64_t batch);

// What will not be read is dropped, so that equal work is an equal problem.
Matrix matrix_of(const Operand& operand, Dtype type, Order order, std::int64_t batch);

}  // namespace bwgemm
