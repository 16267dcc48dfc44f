// SPDX-License-Identifier: Apache-2.0
// Predicates: comparisons, logic on them, and selection by them.
#include <algorithm>
#include <cmath>

#include "vgpu/operations/alu.h"

namespace bwgemm::vgpu {
namespace {

constexpr auto equal = [](auto a, auto b) { return a == b; };
constexpr auto not_equal = [](auto a, auto b) { return a != b; };
constexpr auto less = [](auto a, auto b) { return a < b; };
constexpr auto less_or_equal = [](auto a, auto b) { return a <= b; };
constexpr auto greater = [](auto a, auto b) { return a > b; };
constexpr auto greater_or_equal = [](auto a, auto b) { return a >= b; };
// Of floats: ne is false for a NaN, the forms with a u are true.
constexpr auto ordered_not_equal = [](float a, float b) { return a < b || a > b; };
constexpr auto not_less = [](float a, float b) { return !(a < b); };
constexpr auto not_less_or_equal = [](float a, float b) { return !(a <= b); };
constexpr auto not_greater = [](float a, float b) { return !(a > b); };
constexpr auto not_greater_or_equal = [](float a, float b) { return !(a >= b); };
constexpr auto unordered_equal = [](float a, float b) { return !(a < b || a > b); };
constexpr auto both_numbers = [](float a, float b) { return !std::isunordered(a, b); };
constexpr auto any_nan = [](float a, float b) { return std::isunordered(a, b); };

template <class T, class Operation>
[[gnu::always_inline]] inline LaneMask compare_lanes(Warp& warp, const Instruction& instruction) {
  const T* a = lanes<T>(warp, instruction.a);
  const T* b = lanes<T>(warp, instruction.b);
  LaneMask result = 0;
  for (int lane = 0; lane < warp_lanes; ++lane)
    result |= Operation()(a[lane], b[lane]) ? lane_bits.of[lane] : 0;
  return result;
}

template <class T, class Operation>
[[gnu::target("avx2,fma")]] LaneMask compare_in_wide_vectors(Warp& warp,
                                                             const Instruction& instruction) {
  return compare_lanes<T, Operation>(warp, instruction);
}

template <class T, class Operation>
Step compare(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const LaneMask result = has_wide_vectors
                              ? compare_in_wide_vectors<T, Operation>(warp, instruction)
                              : compare_lanes<T, Operation>(warp, instruction);
  set_predicate(warp, instruction.d, result, mask);
  return Step::next;
}

struct Comparison {
  std::string_view name;
  Execute (*of)(Type);
};

template <class Integer, class Float>
constexpr Comparison comparison(std::string_view name, Integer, Float) {
  return {name, [](Type type) -> Execute {
            if (type == Type::f32) return compare<float, Float>;
            return for_integer(
                type, [](auto zero) -> Execute { return compare<decltype(zero), Integer>; });
          }};
}
template <class Float>
constexpr Comparison of_floats(std::string_view name, Float) {
  return {name,
          [](Type type) -> Execute { return type == Type::f32 ? compare<float, Float> : nullptr; }};
}

constexpr Comparison comparisons[] = {
    comparison("eq", equal, equal),         comparison("ne", not_equal, ordered_not_equal),
    comparison("lt", less, less),           comparison("le", less_or_equal, less_or_equal),
    comparison("gt", greater, greater),     comparison("ge", greater_or_equal, greater_or_equal),
    of_floats("equ", unordered_equal),      of_floats("neu", not_equal),
    of_floats("ltu", not_greater_or_equal), of_floats("leu", not_greater),
    of_floats("gtu", not_less_or_equal),    of_floats("geu", not_less),
    of_floats("num", both_numbers),         of_floats("nan", any_nan),
};

void decode_compare(Decoder& decoder) {
  const auto* row = std::find_if(std::begin(comparisons), std::end(comparisons),
                                 [&](const Comparison& other) { return decoder.take(other.name); });
  if (row == std::end(comparisons)) decoder.fail("unknown comparison");
  const Type type = decoder.type();
  Instruction& instruction = decoder.instruction;
  instruction.d = decoder.predicate_destination(0);
  instruction.a = decoder.source(1, size_bytes(type));
  instruction.b = decoder.source(2, size_bytes(type));
  instruction.execute = row->of(type);
}

template <class T>
Step select(Warp& warp, const Instruction& instruction, LaneMask mask) {
  T* d = lanes<T>(warp, instruction.d);
  const T* a = lanes<T>(warp, instruction.a);
  const T* b = lanes<T>(warp, instruction.b);
  const LaneMask chosen = warp.predicates[instruction.predicate.offset];
  over_lanes(mask, [&](int lane) { d[lane] = chosen & lane_bits.of[lane] ? a[lane] : b[lane]; });
  return Step::next;
}

void decode_select(Decoder& decoder) {
  const std::uint32_t bytes = size_bytes(decoder.type());
  Instruction& instruction = decoder.instruction;
  take_operands(decoder, bytes, bytes, 2);
  instruction.predicate = decoder.predicate(3);
  instruction.execute = bytes == 8   ? select<std::uint64_t>
                        : bytes == 4 ? select<std::uint32_t>
                        : bytes == 2 ? select<std::uint16_t>
                                     : nullptr;
}

template <class Operation>
Step combine(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const LaneMask a = predicate(warp, instruction.a);
  const LaneMask b = instruction.b.exists() ? predicate(warp, instruction.b) : 0;
  set_predicate(warp, instruction.d, Operation()(a, b), mask);
  return Step::next;
}

struct Logic {
  std::string_view name;
  int sources;
  Execute execute;
};
template <class Operation>
constexpr Logic logic(std::string_view name, int sources, Operation) {
  return {name, sources, combine<Operation>};
}
constexpr Logic logics[] = {
    logic("and", 2, [](LaneMask a, LaneMask b) { return a & b; }),
    logic("or", 2, [](LaneMask a, LaneMask b) { return a | b; }),
    logic("xor", 2, [](LaneMask a, LaneMask b) { return a ^ b; }),
    logic("not", 1, [](LaneMask a, LaneMask) { return ~a; }),
    logic("mov", 1, [](LaneMask a, LaneMask) { return a; }),
};

}  // namespace

bool decode_predicate(Decoder& decoder) {
  const std::string& base = decoder.base();
  Instruction& instruction = decoder.instruction;
  if (base == "setp" || base == "selp") {
    if (base == "setp")
      decode_compare(decoder);
    else
      decode_select(decoder);
    if (!instruction.execute) decoder.fail("type not supported");
    return true;
  }
  if (!decoder.ends_with_type({"pred"})) return false;
  for (const Logic& row : logics) {
    if (row.name != base) continue;
    decoder.type();
    instruction.d = decoder.predicate_destination(0);
    instruction.a = decoder.predicate_source(1);
    if (row.sources == 2) instruction.b = decoder.predicate_source(2);
    instruction.execute = row.execute;
    return true;
  }
  return false;
}

}  // namespace bwgemm::vgpu
