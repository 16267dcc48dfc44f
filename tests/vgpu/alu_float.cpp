// SPDX-License-Identifier: Apache-2.0
// f32 arithmetic. Fused operations are exact; approximations are computed well and rounded once,
// which lies within what PTX allows them.
#include <cmath>
#include <limits>

#include "vgpu/alu.h"
#include "vgpu/number.h"

namespace bwgemm::vgpu {
namespace {

struct Add {
  float operator()(float a, float b) const { return a + b; }
};
struct Subtract {
  float operator()(float a, float b) const { return a - b; }
};
struct Multiply {
  float operator()(float a, float b) const { return a * b; }
};
struct Divide {
  float operator()(float a, float b) const { return a / b; }
};
struct Minimum {  // of a number and a NaN: the number
  float operator()(float a, float b) const { return std::fmin(a, b); }
};
struct Maximum {
  float operator()(float a, float b) const { return std::fmax(a, b); }
};
struct FusedMultiplyAdd {
  float operator()(float a, float b, float c) const { return std::fma(a, b, c); }
};
struct Negate {
  float operator()(float a) const { return -a; }
};
struct Magnitude {
  float operator()(float a) const { return std::fabs(a); }
};
struct Reciprocal {
  float operator()(float a) const { return static_cast<float>(1.0 / double(a)); }
};
struct SquareRoot {
  float operator()(float a) const { return std::sqrt(a); }
};
struct PowerOfTwo {
  float operator()(float a) const { return static_cast<float>(std::exp2(double(a))); }
};
struct HyperbolicTangent {
  float operator()(float a) const { return static_cast<float>(std::tanh(double(a))); }
};

template <class Operation>
void decode_unary(Decoder& decoder) {
  take_operands(decoder, 4, 4, 1);
  decoder.instruction.execute = unary<float, float, Operation>;
}

template <class Operation>
void decode_binary(Decoder& decoder) {
  take_operands(decoder, 4, 4, 2);
  decoder.instruction.execute = binary<float, float, Operation>;
}

}  // namespace

// Flushing of denormals (.ftz) and other roundings than to nearest are not modelled, hence errors.
bool decode_float(Decoder& decoder) {
  const std::string& base = decoder.base();
  if (!decoder.ends_with_type({"f32"}) || base == "mov" || base == "ld" || base == "st" ||
      base == "cvt" || base == "setp" || base == "selp")
    return false;
  if (base == "add" || base == "sub" || base == "mul" || base == "fma") decoder.take("rn");
  if (base == "ex2" || base == "tanh") decoder.expect("approx");
  if (base == "rcp" || base == "div" || base == "sqrt") decoder.one_of({"rn", "approx", "full"});
  if (base == "add")
    decode_binary<Add>(decoder);
  else if (base == "sub")
    decode_binary<Subtract>(decoder);
  else if (base == "mul")
    decode_binary<Multiply>(decoder);
  else if (base == "div")
    decode_binary<Divide>(decoder);
  else if (base == "min")
    decode_binary<Minimum>(decoder);
  else if (base == "max")
    decode_binary<Maximum>(decoder);
  else if (base == "neg")
    decode_unary<Negate>(decoder);
  else if (base == "abs")
    decode_unary<Magnitude>(decoder);
  else if (base == "rcp")
    decode_unary<Reciprocal>(decoder);
  else if (base == "sqrt")
    decode_unary<SquareRoot>(decoder);
  else if (base == "ex2")
    decode_unary<PowerOfTwo>(decoder);
  else if (base == "tanh")
    decode_unary<HyperbolicTangent>(decoder);
  else if (base == "fma") {
    take_operands(decoder, 4, 4, 3);
    decoder.instruction.execute = ternary<float, float, FusedMultiplyAdd>;
  } else {
    return false;
  }
  decoder.type();
  return true;
}

}  // namespace bwgemm::vgpu
