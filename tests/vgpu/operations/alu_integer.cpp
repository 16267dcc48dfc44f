// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, bit operations and shifts.
#include <algorithm>
#include <type_traits>

#include "vgpu/operations/alu.h"

namespace bwgemm::vgpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
// Arithmetic goes through 64 unsigned bits, where overflow is defined; the low bits are the same.
using Wide = std::uint64_t;

constexpr auto integer_add = [](auto a, auto b) { return Wide(a) + Wide(b); };
constexpr auto integer_subtract = [](auto a, auto b) { return Wide(a) - Wide(b); };
constexpr auto integer_multiply = [](auto a, auto b) { return Wide(a) * Wide(b); };
constexpr auto integer_multiply_add = [](auto a, auto b, auto c) {
  return Wide(a) * Wide(b) + Wide(c);
};
constexpr auto integer_multiply_high = [](auto a, auto b) {
  using T = decltype(a);
  using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((Product(a) * Product(b)) >> (8 * sizeof(T)));
};
// By zero: all ones, as the hardware's sequence gives.
constexpr auto integer_divide = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(Wide(0) - Wide(a));
  return static_cast<T>(a / b);
};
constexpr auto remainder = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T(0);
  return static_cast<T>(a % b);
};
constexpr auto integer_minimum = [](auto a, auto b) { return std::min(a, b); };
constexpr auto integer_maximum = [](auto a, auto b) { return std::max(a, b); };
constexpr auto bit_and = [](auto a, auto b) { return a & b; };
constexpr auto bit_or = [](auto a, auto b) { return a | b; };
constexpr auto bit_xor = [](auto a, auto b) { return a ^ b; };
constexpr auto bit_not = [](auto a) { return ~a; };
constexpr auto integer_negate = [](auto a) { return Wide(0) - Wide(a); };
constexpr auto integer_magnitude = [](auto a) { return a < 0 ? Wide(0) - Wide(a) : Wide(a); };
// Shift amounts are 32 bits wide whatever is shifted, and clamp.
constexpr auto shift_left = [](auto a, u32 amount) {
  return amount < 8 * sizeof a ? Wide(a) << amount : 0;
};
constexpr auto shift_right = [](auto a, u32 amount) {
  using T = decltype(a);
  constexpr u32 bits = 8 * sizeof(T);
  if (!std::is_signed_v<T> && amount >= bits) return T(0);
  return static_cast<T>(a >> std::min(amount, bits - 1));
};

constexpr u32 low_bits(u32 count) {
  return count < 32 ? (1u << count) - 1 : ~0u;
}
constexpr auto extract_bits = [](u32 a, u32 at, u32 count) {
  return ((at & 255) < 32 ? a >> (at & 255) : 0) & low_bits(count & 255);
};
constexpr auto insert_bits = [](u32 from, u32 into, u32 at, u32 count) {
  if ((at & 255) >= 32) return into;
  const u32 field = low_bits(count & 255) << (at & 255);
  return (into & ~field) | (from << (at & 255) & field);
};
constexpr auto count_ones = [](auto a) { return __builtin_popcountll(a); };
constexpr auto leading_zeros = [](u32 a) { return a ? __builtin_clz(a) : 32; };
constexpr auto reverse_bits = [](u32 a) {
  u32 reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1) << (31 - i);
  return reversed;
};
// Byte i of the result: one of the eight of b:a, or its sign eight times.
constexpr auto permute_bytes = [](u32 a, u32 b, u32 selectors) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 selector = selectors >> (4 * i) & 15;
    const u32 byte = static_cast<u32>(bytes >> (8 * (selector & 7))) & 255;
    result |= (selector & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * i);
  }
  return result;
};
constexpr u64 joined(u32 low, u32 high) {
  return u64{high} << 32 | low;
}
constexpr auto funnel_left_wrap = [](u32 a, u32 b, u32 c) {
  return joined(a, b) << (c & 31) >> 32;
};
constexpr auto funnel_left_clamp = [](u32 a, u32 b, u32 c) {
  return joined(a, b) << std::min(c, 32u) >> 32;
};
constexpr auto funnel_right_wrap = [](u32 a, u32 b, u32 c) { return joined(a, b) >> (c & 31); };
constexpr auto funnel_right_clamp = [](u32 a, u32 b, u32 c) {
  return joined(a, b) >> std::min(c, 32u);
};
constexpr auto any_logic = [](u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
};

// Operations on any integer type.
struct Generic {
  std::string_view name;
  int sources;
  Execute (*of)(Type);
};

template <class Operation>
constexpr Generic unary(std::string_view name, Operation) {
  return {name, 1, [](Type type) {
            return for_integer(type, [](auto zero) -> Execute {
              return apply<Operation, decltype(zero), decltype(zero)>;
            });
          }};
}
template <class Operation>
constexpr Generic binary(std::string_view name, Operation) {
  return {name, 2, [](Type type) {
            return for_integer(type, [](auto zero) -> Execute {
              using T = decltype(zero);
              return apply<Operation, T, T, T>;
            });
          }};
}

constexpr Generic generic[] = {
    binary("add", integer_add),     binary("sub", integer_subtract),
    binary("div", integer_divide),  binary("rem", remainder),
    binary("min", integer_minimum), binary("max", integer_maximum),
    binary("and", bit_and),         binary("or", bit_or),
    binary("xor", bit_xor),         unary("not", bit_not),
    unary("neg", integer_negate),   unary("abs", integer_magnitude),
};

constexpr FixedOperation fixed_type[] = {
    fixed("bfe.u32", extract_bits, u32(), u32(), u32(), u32()),
    fixed("bfi.b32", insert_bits, u32(), u32(), u32(), u32(), u32()),
    fixed("popc.b32", count_ones, u32(), u32()),
    fixed("popc.b64", count_ones, u32(), u64()),
    fixed("clz.b32", leading_zeros, u32(), u32()),
    fixed("brev.b32", reverse_bits, u32(), u32()),
    fixed("prmt.b32", permute_bytes, u32(), u32(), u32(), u32()),
    fixed("shf.l.wrap.b32", funnel_left_wrap, u32(), u32(), u32(), u32()),
    fixed("shf.l.clamp.b32", funnel_left_clamp, u32(), u32(), u32(), u32()),
    fixed("shf.r.wrap.b32", funnel_right_wrap, u32(), u32(), u32(), u32()),
    fixed("shf.r.clamp.b32", funnel_right_clamp, u32(), u32(), u32(), u32()),
    fixed("lop3.b32", any_logic, u32(), u32(), u32(), u32(), u32()),
};

template <class Narrow, class Double>
Execute widening(bool adds) {
  using Sum =
      decltype([](Narrow a, Narrow b, Double c) { return Wide(Double(a) * Double(b)) + Wide(c); });
  using Product = decltype([](Narrow a, Narrow b) { return Double(a) * Double(b); });
  if (adds) return apply<Sum, Double, Narrow, Narrow, Double>;
  return apply<Product, Double, Narrow, Narrow>;
}

Execute widening_of(Type type, bool adds) {
  switch (type) {
    case Type::s16: return widening<std::int16_t, std::int32_t>(adds);
    case Type::u16: return widening<std::uint16_t, std::uint32_t>(adds);
    case Type::s32: return widening<std::int32_t, std::int64_t>(adds);
    case Type::u32: return widening<std::uint32_t, std::uint64_t>(adds);
    default: return nullptr;
  }
}

// mul.lo, .hi, .wide and mad.lo, .wide
void decode_multiply(Decoder& decoder, bool adds) {
  const int part = decoder.one_of({"lo", "hi", "wide"});
  const Type type = decoder.type();
  const std::uint32_t bytes = size_bytes(type), result_bytes = part == 2 ? 2 * bytes : bytes;
  Instruction& instruction = decoder.instruction;
  take_operands(decoder, result_bytes, bytes, 2);
  if (adds) instruction.c = decoder.source(3, result_bytes);
  if (part == 2)
    instruction.execute = widening_of(type, adds);
  else
    instruction.execute = for_integer(type, [&](auto zero) -> Execute {
      using T = decltype(zero);
      if (part == 0 && adds) return apply<decltype(integer_multiply_add), T, T, T, T>;
      if (part == 0) return apply<decltype(integer_multiply), T, T, T>;
      return adds ? nullptr : apply<decltype(integer_multiply_high), T, T, T>;
    });
}

void decode_shift(Decoder& decoder, bool left) {
  const Type type = decoder.type();
  take_operands(decoder, size_bytes(type), size_bytes(type), 1);
  decoder.instruction.b = decoder.source(2, 4);
  decoder.instruction.execute = for_integer(type, [&](auto zero) -> Execute {
    using T = decltype(zero);
    if (left) return apply<decltype(shift_left), T, T, u32>;
    return apply<decltype(shift_right), T, T, u32>;
  });
}

}  // namespace

// Leaves what has a float or predicate type to those families.
bool decode_integer(Decoder& decoder) {
  const std::string& base = decoder.base();
  if (decoder.ends_with_type({"f32", "f16", "bf16", "f16x2", "bf16x2", "f32x2", "pred"}))
    return false;
  if (decode_fixed(decoder, fixed_type)) return true;
  const auto* row = std::find_if(std::begin(generic), std::end(generic),
                                 [&](const Generic& other) { return other.name == base; });
  if (row != std::end(generic)) {
    const Type type = decoder.type();
    take_operands(decoder, size_bytes(type), size_bytes(type), row->sources);
    decoder.instruction.execute = row->of(type);
  } else if (base == "mul" || base == "mad") {
    decode_multiply(decoder, base == "mad");
  } else if (base == "shl" || base == "shr") {
    decode_shift(decoder, base == "shl");
  } else {
    return false;
  }
  if (!decoder.instruction.execute) decoder.fail("type not supported");
  return true;
}

}  // namespace bwgemm::vgpu
