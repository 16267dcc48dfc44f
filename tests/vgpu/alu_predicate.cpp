// SPDX-License-Identifier: Apache-2.0
// Predicates: comparisons, logic on them, and selection by them.
#include <cmath>

#include "vgpu/alu.h"

namespace bwgemm::vgpu {
namespace {

struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct OrderedNotEqual {  // false for NaN
  bool operator()(float a, float b) const { return a < b || a > b; }
};
struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

template <class T, class Operation>
Step compare(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const T* a = lanes<T>(warp, instruction.a);
  const T* b = lanes<T>(warp, instruction.b);
  LaneMask result = 0;
  for (int lane = 0; lane < warp_lanes; ++lane)
    result |= static_cast<LaneMask>(Operation()(a[lane], b[lane])) << lane;
  set_predicate(warp, instruction.d, result, mask);
  return Step::next;
}

template <class Operation>
Execute comparison_of(Type type) {
  if (type == Type::f32) return compare<float, Operation>;
  return for_integer(type, [](auto zero) -> Execute { return compare<decltype(zero), Operation>; });
}

void decode_compare(Decoder& decoder) {
  const int operation = decoder.one_of({"eq", "ne", "lt", "le", "gt", "ge", "neu"});
  const Type type = decoder.type();
  Instruction& instruction = decoder.instruction;
  instruction.d = decoder.predicate_destination(0);
  instruction.a = decoder.source(1, size_bytes(type));
  instruction.b = decoder.source(2, size_bytes(type));
  switch (operation) {
    case 0: instruction.execute = comparison_of<Equal>(type); break;
    case 1:
      instruction.execute =
          type == Type::f32 ? compare<float, OrderedNotEqual> : comparison_of<NotEqual>(type);
      break;
    case 2: instruction.execute = comparison_of<Less>(type); break;
    case 3: instruction.execute = comparison_of<LessOrEqual>(type); break;
    case 4: instruction.execute = comparison_of<Greater>(type); break;
    case 5: instruction.execute = comparison_of<GreaterOrEqual>(type); break;
    case 6:
      if (type == Type::f32) instruction.execute = compare<float, NotEqual>;
      break;
  }
}

template <class T>
Step select(Warp& warp, const Instruction& instruction, LaneMask mask) {
  T* d = lanes<T>(warp, instruction.d);
  const T* a = lanes<T>(warp, instruction.a);
  const T* b = lanes<T>(warp, instruction.b);
  const LaneMask chosen = warp.predicates[instruction.predicate.offset];
  over_lanes(mask, [&](int lane) { d[lane] = chosen >> lane & 1 ? a[lane] : b[lane]; });
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

struct PredicateAnd {
  LaneMask operator()(LaneMask a, LaneMask b) const { return a & b; }
};
struct PredicateOr {
  LaneMask operator()(LaneMask a, LaneMask b) const { return a | b; }
};
struct PredicateXor {
  LaneMask operator()(LaneMask a, LaneMask b) const { return a ^ b; }
};
struct PredicateNot {
  LaneMask operator()(LaneMask a, LaneMask) const { return ~a; }
};
struct PredicateCopy {
  LaneMask operator()(LaneMask a, LaneMask) const { return a; }
};

template <class Operation>
Step combine(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const LaneMask a = predicate(warp, instruction.a);
  const LaneMask b = instruction.b.exists() ? predicate(warp, instruction.b) : 0;
  set_predicate(warp, instruction.d, Operation()(a, b), mask);
  return Step::next;
}

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
  if (base == "and")
    instruction.execute = combine<PredicateAnd>;
  else if (base == "or")
    instruction.execute = combine<PredicateOr>;
  else if (base == "xor")
    instruction.execute = combine<PredicateXor>;
  else if (base == "not")
    instruction.execute = combine<PredicateNot>;
  else if (base == "mov")
    instruction.execute = combine<PredicateCopy>;
  else
    return false;
  decoder.type();
  instruction.d = decoder.predicate_destination(0);
  instruction.a = decoder.predicate_source(1);
  if (base == "and" || base == "or" || base == "xor") instruction.b = decoder.predicate_source(2);
  return true;
}

}  // namespace bwgemm::vgpu
