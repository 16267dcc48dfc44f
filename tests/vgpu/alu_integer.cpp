// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, bit operations and shifts.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "vgpu/alu.h"

namespace bwgemm::vgpu {
namespace {

// Arithmetic goes through 64 unsigned bits, where overflow is defined; the low bits are the same.
using Wide = std::uint64_t;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wide(a) + Wide(b));
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wide(a) - Wide(b));
  }
};
struct MultiplyLow {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wide(a) * Wide(b));
  }
};
struct MultiplyHigh {  // up to 32 bits
  template <class T>
  T operator()(T a, T b) const {
    using Product = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>((Product(a) * Product(b)) >> (8 * sizeof(T)));
  }
};
struct MultiplyHigh64 {
  template <class T>
  T operator()(T a, T b) const {
    using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((Product(a) * Product(b)) >> 64);
  }
};
template <class Result>
struct MultiplyWide {
  template <class T>
  Result operator()(T a, T b) const {
    return static_cast<Result>(Result(a) * Result(b));
  }
};
struct MultiplyAddLow {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(Wide(a) * Wide(b) + Wide(c));
  }
};
template <class Result>
struct MultiplyAddWide {
  template <class T>
  Result operator()(T a, T b, Result c) const {
    return static_cast<Result>(Wide(Result(a) * Result(b)) + Wide(c));
  }
};
struct Divide {  // by zero: all ones, as the hardware's sequence gives
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(Wide(0) - Wide(a));
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(Wide(0) - Wide(a));
  }
};
struct PopulationCount {
  std::uint32_t operator()(std::uint64_t a) const {
    return static_cast<std::uint32_t>(__builtin_popcountll(a));
  }
};
struct LeadingZeros {
  std::uint32_t operator()(std::uint32_t a) const {
    return a ? static_cast<std::uint32_t>(__builtin_clz(a)) : 32;
  }
};

// Shift amounts are 32 bits wide whatever is shifted, and clamp.
template <class T>
Step shift_left(Warp& warp, const Instruction& instruction, LaneMask mask) {
  T* d = lanes<T>(warp, instruction.d);
  const T* a = lanes<T>(warp, instruction.a);
  const auto* amount = lanes<std::uint32_t>(warp, instruction.b);
  over_lanes(mask, [&](int lane) {
    d[lane] = amount[lane] < 8 * sizeof(T) ? static_cast<T>(Wide(a[lane]) << amount[lane]) : T(0);
  });
  return Step::next;
}

template <class T>
Step shift_right(Warp& warp, const Instruction& instruction, LaneMask mask) {
  constexpr std::uint32_t bits = 8 * sizeof(T);
  T* d = lanes<T>(warp, instruction.d);
  const T* a = lanes<T>(warp, instruction.a);
  const auto* amount = lanes<std::uint32_t>(warp, instruction.b);
  over_lanes(mask, [&](int lane) {
    if (std::is_signed_v<T> || amount[lane] < bits)
      d[lane] = static_cast<T>(a[lane] >> std::min(amount[lane], bits - 1));
    else
      d[lane] = 0;
  });
  return Step::next;
}

std::uint32_t low_bits(std::uint32_t count) {
  return count < 32 ? (1u << count) - 1 : ~0u;
}

Step extract_bits(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  const auto* a = lanes<std::uint32_t>(warp, instruction.a);
  const auto* position = lanes<std::uint32_t>(warp, instruction.b);
  const auto* count = lanes<std::uint32_t>(warp, instruction.c);
  over_lanes(mask, [&](int lane) {
    const std::uint32_t at = position[lane] & 255;
    d[lane] = (at < 32 ? a[lane] >> at : 0) & low_bits(count[lane] & 255);
  });
  return Step::next;
}

Step insert_bits(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  const auto* from = lanes<std::uint32_t>(warp, instruction.a);
  const auto* into = lanes<std::uint32_t>(warp, instruction.b);
  const auto* position = lanes<std::uint32_t>(warp, instruction.c);
  const auto* count = lanes<std::uint32_t>(warp, instruction.e);
  over_lanes(mask, [&](int lane) {
    const std::uint32_t at = position[lane] & 255;
    const std::uint32_t field = at < 32 ? low_bits(count[lane] & 255) << at : 0;
    d[lane] = (into[lane] & ~field) | (at < 32 ? from[lane] << at & field : 0);
  });
  return Step::next;
}

template <class Operation>
void decode_binary(Decoder& decoder, Type type) {
  take_operands(decoder, size_bytes(type), size_bytes(type), 2);
  decoder.instruction.execute = for_integer(type, [](auto zero) -> Execute {
    using T = decltype(zero);
    return binary<T, T, Operation>;
  });
}

template <class Operation>
void decode_unary(Decoder& decoder, Type type) {
  take_operands(decoder, size_bytes(type), size_bytes(type), 1);
  decoder.instruction.execute = for_integer(type, [](auto zero) -> Execute {
    using T = decltype(zero);
    return unary<T, T, Operation>;
  });
}

// mul.lo, .hi, .wide and mad.lo, .wide
void decode_multiply(Decoder& decoder, bool adds) {
  const int part = decoder.one_of({"lo", "hi", "wide"});
  const Type type = decoder.type();
  const std::uint32_t bytes = size_bytes(type);
  Instruction& instruction = decoder.instruction;
  take_operands(decoder, part == 2 ? 2 * bytes : bytes, bytes, adds ? 3 : 2);
  if (part == 0)
    instruction.execute = for_integer(type, [&](auto zero) -> Execute {
      using T = decltype(zero);
      if (adds) return ternary<T, T, MultiplyAddLow>;
      return binary<T, T, MultiplyLow>;
    });
  else if (part == 1 && !adds)
    instruction.execute = for_integer(type, [](auto zero) -> Execute {
      using T = decltype(zero);
      return binary<T, T, std::conditional_t<sizeof(T) == 8, MultiplyHigh64, MultiplyHigh>>;
    });
  else if (part == 2)
    switch (type) {
      case Type::s16:
        instruction.execute =
            adds ? ternary<std::int32_t, std::int16_t, MultiplyAddWide<std::int32_t>>
                 : binary<std::int32_t, std::int16_t, MultiplyWide<std::int32_t>>;
        break;
      case Type::u16:
        instruction.execute =
            adds ? ternary<std::uint32_t, std::uint16_t, MultiplyAddWide<std::uint32_t>>
                 : binary<std::uint32_t, std::uint16_t, MultiplyWide<std::uint32_t>>;
        break;
      case Type::s32:
        instruction.execute =
            adds ? ternary<std::int64_t, std::int32_t, MultiplyAddWide<std::int64_t>>
                 : binary<std::int64_t, std::int32_t, MultiplyWide<std::int64_t>>;
        break;
      case Type::u32:
        instruction.execute =
            adds ? ternary<std::uint64_t, std::uint32_t, MultiplyAddWide<std::uint64_t>>
                 : binary<std::uint64_t, std::uint32_t, MultiplyWide<std::uint64_t>>;
        break;
      default: break;
    }
}

void decode_shift(Decoder& decoder, bool left) {
  const Type type = decoder.type();
  decoder.instruction.d = decoder.destination(0, size_bytes(type));
  decoder.instruction.a = decoder.source(1, size_bytes(type));
  decoder.instruction.b = decoder.source(2, 4);
  decoder.instruction.execute = for_integer(type, [&](auto zero) -> Execute {
    using T = decltype(zero);
    return left ? &shift_left<T> : &shift_right<T>;
  });
}

void decode_bit_field(Decoder& decoder, bool inserts) {
  const Type type = decoder.type();
  if (type != (inserts ? Type::b32 : Type::u32)) decoder.fail("type not supported");
  Instruction& instruction = decoder.instruction;
  take_operands(decoder, 4, 4, 3);
  if (inserts) instruction.e = decoder.source(4, 4);
  instruction.execute = inserts ? insert_bits : extract_bits;
}

void decode_bit_count(Decoder& decoder, bool leading_zeros) {
  const Type type = decoder.type();
  take_operands(decoder, 4, size_bytes(type), 1);
  if (leading_zeros && type == Type::b32)
    decoder.instruction.execute = unary<std::uint32_t, std::uint32_t, LeadingZeros>;
  else if (!leading_zeros && type == Type::b32)
    decoder.instruction.execute = unary<std::uint32_t, std::uint32_t, PopulationCount>;
  else if (!leading_zeros && type == Type::b64)
    decoder.instruction.execute = unary<std::uint32_t, std::uint64_t, PopulationCount>;
}

}  // namespace

// Leaves what has a float or predicate type to those families.
bool decode_integer(Decoder& decoder) {
  const std::string& base = decoder.base();
  if (decoder.ends_with_type({"f32", "f16", "bf16", "f16x2", "bf16x2", "pred"})) return false;
  if (base == "add")
    decode_binary<Add>(decoder, decoder.type());
  else if (base == "sub")
    decode_binary<Subtract>(decoder, decoder.type());
  else if (base == "div")
    decode_binary<Divide>(decoder, decoder.type());
  else if (base == "rem")
    decode_binary<Remainder>(decoder, decoder.type());
  else if (base == "min")
    decode_binary<Minimum>(decoder, decoder.type());
  else if (base == "max")
    decode_binary<Maximum>(decoder, decoder.type());
  else if (base == "and")
    decode_binary<And>(decoder, decoder.type());
  else if (base == "or")
    decode_binary<Or>(decoder, decoder.type());
  else if (base == "xor")
    decode_binary<Xor>(decoder, decoder.type());
  else if (base == "not")
    decode_unary<Not>(decoder, decoder.type());
  else if (base == "neg")
    decode_unary<Negate>(decoder, decoder.type());
  else if (base == "mul")
    decode_multiply(decoder, false);
  else if (base == "mad")
    decode_multiply(decoder, true);
  else if (base == "shl")
    decode_shift(decoder, true);
  else if (base == "shr")
    decode_shift(decoder, false);
  else if (base == "bfe")
    decode_bit_field(decoder, false);
  else if (base == "bfi")
    decode_bit_field(decoder, true);
  else if (base == "popc")
    decode_bit_count(decoder, false);
  else if (base == "clz")
    decode_bit_count(decoder, true);
  else
    return false;
  if (!decoder.instruction.execute) decoder.fail("type not supported");
  return true;
}

}  // namespace bwgemm::vgpu
