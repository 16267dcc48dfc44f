// SPDX-License-Identifier: Apache-2.0
// cvt between types.
#include <cmath>
#include <cstring>
#include <limits>

#include "vgpu/operations/alu.h"
#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

// An integer of `bytes` at `from`, extended to 64 bits by its sign or by zeros.
std::uint64_t load_integer(const std::byte* from, std::uint32_t bytes, bool is_signed) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  const std::uint32_t unused = 64 - 8 * bytes;
  if (!is_signed) return value;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

// Of the integer in a conversion: its width, and whether it has a sign.
struct IntegerForm {
  std::uint32_t bytes;
  bool is_signed;

  static IntegerForm of(Type type) { return {size_bytes(type), vgpu::is_signed(type)}; }
  static IntegerForm from_bits(std::uint32_t bits) { return {bits & 15, (bits & 16) != 0}; }
  std::uint32_t bits() const { return bytes | (is_signed ? 16 : 0); }
};
constexpr int result_shift = 8;  // of the second form in Instruction::modifiers

// The usual forms: from and to registers as wide as the integers.
template <class From, class To>
Step convert_plainly(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto* a = lanes<From>(warp, instruction.a);
  auto* d = lanes<To>(warp, instruction.d);
  over_lanes(mask, [&](int lane) { d[lane] = static_cast<To>(a[lane]); });
  return Step::next;
}

// Null: an unusual form.
Execute plain_conversion(const IntegerForm& from, const IntegerForm& to,
                         const Instruction& instruction) {
  if (instruction.a.bytes != from.bytes || instruction.d.bytes != to.bytes) return nullptr;
  const auto to_type = [&](auto source) -> Execute {
    using From = decltype(source);
    switch (to.bytes) {  // what is cut or as wide has no sign
      case 2: return convert_plainly<From, std::uint16_t>;
      case 4: return convert_plainly<From, std::uint32_t>;
      case 8: return convert_plainly<From, std::uint64_t>;
      default: return nullptr;
    }
  };
  switch (from.bytes) {
    case 2: return from.is_signed ? to_type(std::int16_t()) : to_type(std::uint16_t());
    case 4: return from.is_signed ? to_type(std::int32_t()) : to_type(std::uint32_t());
    case 8: return from.is_signed ? to_type(std::int64_t()) : to_type(std::uint64_t());
    default: return nullptr;
  }
}

// Cut to the destination's type, then extended again to the register by that type's sign.
Step convert_integer(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto from = IntegerForm::from_bits(instruction.modifiers);
  const auto to = IntegerForm::from_bits(instruction.modifiers >> result_shift);
  const auto* a = lanes<std::byte>(warp, instruction.a);
  auto* d = lanes<std::byte>(warp, instruction.d);
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t value =
        load_integer(a + lane * instruction.a.bytes, from.bytes, from.is_signed);
    const std::uint64_t result =
        load_integer(reinterpret_cast<const std::byte*>(&value), to.bytes, to.is_signed);
    std::memcpy(d + lane * instruction.d.bytes, &result, instruction.d.bytes);
  });
  return Step::next;
}

Step integer_to_float(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto from = IntegerForm::from_bits(instruction.modifiers);
  const auto* a = lanes<std::byte>(warp, instruction.a);
  auto* d = lanes<float>(warp, instruction.d);
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t value =
        load_integer(a + lane * instruction.a.bytes, from.bytes, from.is_signed);
    d[lane] = from.is_signed ? static_cast<float>(static_cast<std::int64_t>(value))
                             : static_cast<float>(value);
  });
  return Step::next;
}

double rounded(float value, int mode) {
  switch (mode) {
    case 0: return std::nearbyint(value);
    case 1: return std::trunc(value);
    case 2: return std::floor(value);
    default: return std::ceil(value);
  }
}

// Clamped to the range of the integer; a NaN becomes zero.
Step float_to_integer(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto to = IntegerForm::from_bits(instruction.modifiers);
  const int mode = static_cast<int>(instruction.modifiers >> result_shift);
  const auto* a = lanes<float>(warp, instruction.a);
  auto* d = lanes<std::byte>(warp, instruction.d);
  const double end = std::ldexp(1.0, static_cast<int>(8 * to.bytes) - (to.is_signed ? 1 : 0));
  for_each_lane(mask, [&](int lane) {
    const double value = rounded(a[lane], mode);
    std::uint64_t result = 0;
    if (value >= end)
      result = ~std::uint64_t{0} >> (64 - 8 * to.bytes + (to.is_signed ? 1 : 0));
    else if (to.is_signed)
      result = static_cast<std::uint64_t>(value >= -end ? static_cast<std::int64_t>(value)
                                          : value < 0   ? static_cast<std::int64_t>(-end)
                                                        : 0);
    else if (value > 0)
      result = static_cast<std::uint64_t>(value);
    std::memcpy(d + lane * instruction.d.bytes, &result, instruction.d.bytes);
  });
  return Step::next;
}

// The first source becomes the upper half. NaN is no negative number for .relu.
constexpr auto relu = [](float a) { return a < 0 ? 0.0f : a; };
constexpr auto pack_f16 = [](float a, float b) { return u32{to_f16(a)} << 16 | to_f16(b); };
constexpr auto pack_bf16 = [](float a, float b) { return u32{to_bf16(a)} << 16 | to_bf16(b); };
template <Float8 format>
constexpr auto pack8 =
    [](float a, float b) { return to_float8(a, format) << 8 | to_float8(b, format); };
template <Float8 format>
constexpr auto unpack8 = [](u16 a) {
  return pack_f16(from_float8(static_cast<std::uint8_t>(a >> 8), format),
                  from_float8(static_cast<std::uint8_t>(a), format));
};
template <Float8 format>
constexpr auto pack8_halves = [](u32 a) {
  return pack8<format>(from_f16(static_cast<u16>(a >> 16)), from_f16(static_cast<u16>(a)));
};
constexpr auto nearest_tf32 = [](float a) {  // ties away from zero
  return truncated_to_tf32(float_from_bits(bits_of(a) + 0x1000));
};
constexpr auto e4m3 = Float8::e4m3, e5m2 = Float8::e5m2;

constexpr FixedOperation conversions[] = {
    fixed("cvt.rn.f16x2.f32", pack_f16, u32(), float(), float()),
    fixed("cvt.rn.bf16x2.f32", pack_bf16, u32(), float(), float()),
    fixed(
        "cvt.rn.relu.f16x2.f32", [](float a, float b) { return pack_f16(relu(a), relu(b)); }, u32(),
        float(), float()),
    fixed(
        "cvt.rn.relu.bf16x2.f32", [](float a, float b) { return pack_bf16(relu(a), relu(b)); },
        u32(), float(), float()),
    fixed("cvt.rn.satfinite.e4m3x2.f32", pack8<e4m3>, u16(), float(), float()),
    fixed("cvt.rn.satfinite.e5m2x2.f32", pack8<e5m2>, u16(), float(), float()),
    fixed("cvt.rn.satfinite.e4m3x2.f16x2", pack8_halves<e4m3>, u16(), u32()),
    fixed("cvt.rn.satfinite.e5m2x2.f16x2", pack8_halves<e5m2>, u16(), u32()),
    fixed("cvt.rn.f16x2.e4m3x2", unpack8<e4m3>, u32(), u16()),
    fixed("cvt.rn.f16x2.e5m2x2", unpack8<e5m2>, u32(), u16()),
    fixed("cvt.rna.tf32.f32", nearest_tf32, float(), float()),
    fixed(
        "cvt.f32.f16", [](u16 a) { return from_f16(a); }, float(), u16()),
    fixed(
        "cvt.f32.bf16", [](u16 a) { return from_bf16(a); }, float(), u16()),
    fixed(
        "cvt.rn.f16.f32", [](float a) { return to_f16(a); }, u16(), float()),
    fixed(
        "cvt.rn.bf16.f32", [](float a) { return to_bf16(a); }, u16(), float()),
};

}  // namespace

bool decode_convert(Decoder& decoder) {
  if (decoder.base() != "cvt") return false;
  if (decode_fixed(decoder, conversions)) return true;
  Instruction& instruction = decoder.instruction;
  const Type from = decoder.type(), to = decoder.type();
  if (!(is_integer(from) || from == Type::f32) || !(is_integer(to) || to == Type::f32))
    decoder.fail("conversion not supported");
  instruction.d = decoder.destination_or_wider(0, size_bytes(to));
  instruction.a = decoder.source_or_wider(1, size_bytes(from));
  if (instruction.a.kind == Operand::Kind::special) decoder.fail("only mov reads this");
  if (is_integer(from) && is_integer(to)) {
    const auto from_form = IntegerForm::of(from), to_form = IntegerForm::of(to);
    instruction.modifiers = from_form.bits() | to_form.bits() << result_shift;
    const Execute plain = plain_conversion(from_form, to_form, instruction);
    instruction.execute = plain ? plain : convert_integer;
  } else if (is_integer(from)) {
    decoder.expect("rn");
    instruction.modifiers = IntegerForm::of(from).bits();
    instruction.execute = integer_to_float;
  } else if (is_integer(to)) {
    const int mode = decoder.one_of({"rni", "rzi", "rmi", "rpi"});
    decoder.take("ftz");
    instruction.modifiers = IntegerForm::of(to).bits() | static_cast<std::uint32_t>(mode)
                                                             << result_shift;
    instruction.execute = float_to_integer;
  } else {
    decoder.fail("conversion not supported");
  }
  return true;
}

}  // namespace bwgemm::vgpu
