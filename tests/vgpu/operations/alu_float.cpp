// SPDX-License-Identifier: Apache-2.0
// Arithmetic on floats: f32, pairs of it, and 16-bit floats alone and in pairs. Fused operations
// are exact; approximations are computed well and rounded once, which lies within what PTX allows.
#include <cmath>

#include "vgpu/operations/alu.h"
#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {
namespace {

constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto subtract = [](auto a, auto b) { return a - b; };
constexpr auto multiply = [](auto a, auto b) { return a * b; };
constexpr auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
// Of a number and a NaN: the number.
constexpr auto minimum = [](auto a, auto b) { return std::fmin(a, b); };
constexpr auto maximum = [](auto a, auto b) { return std::fmax(a, b); };
// Of a number and a NaN: NaN.
constexpr auto maximum_or_nan = [](float a, float b) {
  return a != a || b != b ? float_from_bits(result_nan) : std::fmax(a, b);
};
constexpr auto minimum_or_nan = [](float a, float b) {
  return a != a || b != b ? float_from_bits(result_nan) : std::fmin(a, b);
};
constexpr auto negate = [](auto a) { return -a; };
constexpr auto magnitude = [](auto a) { return std::fabs(a); };
constexpr auto divide = [](float a, float b) { return a / b; };
constexpr auto reciprocal = [](float a) { return 1.0 / double(a); };
constexpr auto square_root = [](float a) { return std::sqrt(a); };
constexpr auto reciprocal_root = [](float a) { return 1.0 / std::sqrt(double(a)); };
constexpr auto power_of_two = [](float a) { return std::exp2(double(a)); };
constexpr auto logarithm = [](float a) { return std::log2(double(a)); };
constexpr auto hyperbolic_tangent = [](float a) { return std::tanh(double(a)); };

// Whatever NaN went in, one comes out; 16-bit results get theirs where they are rounded.
template <class Operation>
struct OneNan {
  template <class... Floats>
  float operator()(Floats... sources) const {
    const auto result = static_cast<float>(Operation()(sources...));
    return result != result ? float_from_bits(result_nan) : result;
  }
};

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
template <class Operation>
struct Flush {  // .ftz
  template <class... Floats>
  float operator()(Floats... sources) const {
    return flushed(Operation()(flushed(sources)...));
  }
};
template <class Operation>
struct Pair {  // f32x2
  template <class... Pairs>
  std::uint64_t operator()(Pairs... sources) const {
    const auto half = [&](int shift) {
      return bits_of(Operation()(float_from_bits(static_cast<std::uint32_t>(sources >> shift))...));
    };
    return std::uint64_t{half(32)} << 32 | half(0);
  }
};
// 16-bit floats, computed in double and rounded once.
template <class Operation, bool bf16>
struct Half {
  template <class... Halves>
  std::uint16_t operator()(Halves... sources) const {
    const float result =
        rounded_to_odd(Operation()(double(bf16 ? from_bf16(sources) : from_f16(sources))...));
    return bf16 ? to_bf16(result) : to_f16(result);
  }
};
template <class Operation, bool bf16>
struct HalfPair {
  template <class... Pairs>
  std::uint32_t operator()(Pairs... sources) const {
    const auto half = [&](int shift) {
      return Half<Operation, bf16>()(static_cast<std::uint16_t>(sources >> shift)...);
    };
    return static_cast<std::uint32_t>(half(16)) << 16 | half(0);
  }
};

template <class Operation, class T, int sources>
constexpr Execute applied() {
  if constexpr (sources == 1) return apply<Operation, T, T>;
  if constexpr (sources == 2) return apply<Operation, T, T, T>;
  if constexpr (sources == 3) return apply<Operation, T, T, T, T>;
}

struct Row {
  std::string_view name;
  std::string_view roundings;  // of which one stands there; with a ?, perhaps
  int sources;
  Execute f32, flushed, f32x2, f16, bf16, f16x2, bf16x2;
};

template <int sources, class Operation>
constexpr Row only_f32(std::string_view name, std::string_view roundings, Operation) {
  Row row{};
  row.name = name;
  row.roundings = roundings;
  row.sources = sources;
  row.f32 = applied<OneNan<Operation>, float, sources>();
  row.flushed = applied<Flush<OneNan<Operation>>, float, sources>();
  return row;
}
template <int sources, class Operation>
constexpr Row any_float(std::string_view name, std::string_view roundings, Operation operation) {
  Row row = only_f32<sources>(name, roundings, operation);
  row.f32x2 = applied<Pair<OneNan<Operation>>, std::uint64_t, sources>();
  row.f16 = applied<Half<Operation, false>, std::uint16_t, sources>();
  row.bf16 = applied<Half<Operation, true>, std::uint16_t, sources>();
  row.f16x2 = applied<HalfPair<Operation, false>, std::uint32_t, sources>();
  row.bf16x2 = applied<HalfPair<Operation, true>, std::uint32_t, sources>();
  return row;
}

constexpr Row rows[] = {
    any_float<2>("add", "?rn", add),
    any_float<2>("sub", "?rn", subtract),
    any_float<2>("mul", "?rn", multiply),
    any_float<3>("fma", "rn", fused),
    any_float<2>("min", "", minimum),
    any_float<2>("max", "", maximum),
    any_float<1>("neg", "", negate),
    any_float<1>("abs", "", magnitude),
    only_f32<2>("div", "rn approx full", divide),
    only_f32<1>("rcp", "rn approx", reciprocal),
    only_f32<1>("sqrt", "rn approx", square_root),
    only_f32<1>("rsqrt", "approx", reciprocal_root),
    only_f32<1>("ex2", "approx", power_of_two),
    only_f32<1>("lg2", "approx", logarithm),
    only_f32<1>("tanh", "approx", hyperbolic_tangent),
};

Execute execute_of(const Row& row, Type type, bool flushes) {
  switch (type) {
    case Type::f32: return flushes ? row.flushed : row.f32;
    case Type::f32x2: return flushes ? nullptr : row.f32x2;
    case Type::f16: return flushes ? nullptr : row.f16;
    case Type::bf16: return flushes ? nullptr : row.bf16;
    case Type::f16x2: return flushes ? nullptr : row.f16x2;
    case Type::bf16x2: return flushes ? nullptr : row.bf16x2;
    default: return nullptr;
  }
}

}  // namespace

// Roundings other than to nearest are not modelled, hence errors.
bool decode_float(Decoder& decoder) {
  const bool is_max = decoder.base() == "max";
  if ((is_max || decoder.base() == "min") && decoder.has("NaN")) {
    decoder.take("NaN");
    if (!decoder.ends_with_type({"f32"})) decoder.fail("type not supported");
    const Type type = decoder.type();
    take_operands(decoder, size_bytes(type), size_bytes(type), 2);
    decoder.instruction.execute = is_max ? applied<decltype(maximum_or_nan), float, 2>()
                                         : applied<decltype(minimum_or_nan), float, 2>();
    return true;
  }
  if (!decoder.ends_with_type({"f32", "f32x2", "f16", "bf16", "f16x2", "bf16x2"})) return false;
  for (const Row& row : rows) {
    if (row.name != decoder.base()) continue;
    bool is_rounded = row.roundings.empty() || row.roundings[0] == '?';
    for (const char* rounding : {"rn", "approx", "full"})
      if (row.roundings.find(rounding) != std::string_view::npos)
        is_rounded |= decoder.take(rounding);
    const bool flushes = decoder.take("ftz");
    const Type type = decoder.type();
    if (!is_rounded) decoder.fail("a rounding is missing");
    take_operands(decoder, size_bytes(type), size_bytes(type), row.sources);
    decoder.instruction.execute = execute_of(row, type, flushes);
    if (!decoder.instruction.execute) decoder.fail("type not supported");
    return true;
  }
  return false;
}

}  // namespace bwgemm::vgpu
