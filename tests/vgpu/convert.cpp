// SPDX-License-Identifier: Apache-2.0
// cvt. Integers may come from and go to wider registers than their type, so they are converted
// through 64 bits, lane by lane.
#include <cstring>

#include "vgpu/alu.h"
#include "vgpu/number.h"

namespace bwgemm::vgpu {
namespace {

// An integer of `bytes` at `from`, extended to 64 bits by its sign or by zeros.
std::uint64_t load_integer(const std::byte* from, std::uint32_t bytes, bool is_signed) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  const std::uint32_t unused = 64 - 8 * bytes;
  if (!is_signed) return value;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

// Cut to the destination's type, then extended again to the register by that type's sign.
Step convert_integer(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const std::uint32_t source_bytes = instruction.modifiers & 15;
  const std::uint32_t result_bytes = instruction.modifiers >> 4 & 15;
  const bool source_signed = instruction.modifiers & 0x100;
  const bool result_signed = instruction.modifiers & 0x200;
  const auto* a = lanes<std::byte>(warp, instruction.a);
  auto* d = lanes<std::byte>(warp, instruction.d);
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t value =
        load_integer(a + lane * instruction.a.bytes, source_bytes, source_signed);
    std::byte bytes[8];
    std::memcpy(bytes, &value, sizeof bytes);
    const std::uint64_t result = load_integer(bytes, result_bytes, result_signed);
    std::memcpy(d + lane * instruction.d.bytes, &result, instruction.d.bytes);
  });
  return Step::next;
}

struct FromF16 {
  float operator()(std::uint16_t a) const { return from_f16(a); }
};
struct FromBf16 {
  float operator()(std::uint16_t a) const { return from_bf16(a); }
};
struct ToF16 {
  std::uint16_t operator()(float a) const { return to_f16(a); }
};
struct ToBf16 {
  std::uint16_t operator()(float a) const { return to_bf16(a); }
};
struct ToFloat {
  template <class T>
  float operator()(T a) const {
    return static_cast<float>(a);
  }
};
// The first source becomes the upper half.
template <class Narrow>
struct Pack {
  std::uint32_t operator()(float a, float b) const {
    return static_cast<std::uint32_t>(Narrow()(a)) << 16 | Narrow()(b);
  }
};

void decode_pack(Decoder& decoder, bool bf16) {
  decoder.expect("rn");
  take_operands(decoder, 4, 4, 2);
  decoder.instruction.execute =
      bf16 ? binary<std::uint32_t, float, Pack<ToBf16>> : binary<std::uint32_t, float, Pack<ToF16>>;
}

void decode_between(Decoder& decoder, Type to, Type from) {
  Instruction& instruction = decoder.instruction;
  if (is_integer(to) && is_integer(from)) {
    instruction.d = decoder.destination_or_wider(0, size_bytes(to));
    instruction.a = decoder.source_or_wider(1, size_bytes(from));
    if (instruction.a.kind == Operand::Kind::special) decoder.fail("only mov reads this");
    instruction.modifiers = size_bytes(from) | size_bytes(to) << 4 | (is_signed(from) ? 0x100 : 0) |
                            (is_signed(to) ? 0x200 : 0);
    instruction.execute = convert_integer;
    return;
  }
  if (to == Type::f32 && from == Type::f16)
    instruction.execute = unary<float, std::uint16_t, FromF16>;
  else if (to == Type::f32 && from == Type::bf16)
    instruction.execute = unary<float, std::uint16_t, FromBf16>;
  else if (to == Type::f32 && from == Type::s32)
    instruction.execute = unary<float, std::int32_t, ToFloat>;
  else if (to == Type::f32 && from == Type::u32)
    instruction.execute = unary<float, std::uint32_t, ToFloat>;
  else if (to == Type::f16 && from == Type::f32)
    instruction.execute = unary<std::uint16_t, float, ToF16>;
  else if (to == Type::bf16 && from == Type::f32)
    instruction.execute = unary<std::uint16_t, float, ToBf16>;
  else
    decoder.fail("conversion not supported");
  if (from == Type::f32 || is_integer(from)) decoder.expect("rn");
  take_operands(decoder, size_bytes(to), size_bytes(from), 1);
}

}  // namespace

bool decode_convert(Decoder& decoder) {
  if (decoder.base() != "cvt") return false;
  const Type from = decoder.type();
  const Type to = decoder.type();
  if (to == Type::bf16x2 || to == Type::f16x2) {
    if (from != Type::f32) decoder.fail("conversion not supported");
    decode_pack(decoder, to == Type::bf16x2);
  } else {
    decode_between(decoder, to, from);
  }
  return true;
}

}  // namespace bwgemm::vgpu
