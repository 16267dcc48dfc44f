// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/sum_cases.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "vgpu/operations/number.h"

namespace bwgemm::calibration {
namespace {

constexpr int rows = SumCase::rows, columns = SumCase::columns, step = 16;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  int below(int bound) { return static_cast<int>(bits() % static_cast<std::uint64_t>(bound)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  double sign() { return bits() & 1 ? -1 : 1; }
  // A number of `significant` bits with the given exponent.
  double number(int significant, int exponent) {
    const auto mantissa = static_cast<double>(bits() >> (65 - significant));
    return std::ldexp(std::ldexp(mantissa, 1 - significant) + 1, exponent);
  }

 private:
  std::uint64_t state_;
};

class Maker {
 public:
  Maker(bool is_f16, SumKind kind, int steps = 1) : is_f16_(is_f16) {
    sums_.is_f16 = is_f16;
    sums_.kind = kind;
    sums_.steps = steps;
    sums_.accumulate = 1;
  }
  void a(int row, int k, double value) { put(sums_.a[row * SumCase::depth + k], value); }
  void b(int column, int k, double value) { put(sums_.b[column * SumCase::depth + k], value); }
  void c(int row, int column, double value) {
    sums_.c[row * columns + column] = static_cast<float>(value);
  }
  SumCase& sums() { return sums_; }

 private:
  void put(std::uint16_t& to, double value) const { to = to_16_bits(value, is_f16_); }

  bool is_f16_;
  SumCase sums_{};
};

int significand(bool is_f16) {
  return is_f16 ? 11 : 8;
}

// Column j of B lets the large product (k = 0) and these others through.
constexpr std::uint16_t seen[columns] = {1 << 1, 1 << 3,  1 << 4, 1 << 7,
                                         1 << 8, 1 << 15, 0xfffe, 0x0110};

// A large product of `large` and small ones at `distance(row)` binary orders below, of its sign or
// not. 2^4 per factor keeps f16's small ones normal.
SumCase small_products(bool is_f16, double large, bool fractions) {
  Maker maker(is_f16, small_behind_large);
  for (int row = 0; row < rows; ++row) {
    const double small = (row < 32 ? 1 : -1) * std::ldexp(fractions ? 1.625 : 1, 8 - row % 32);
    maker.a(row, 0, 16 * large);
    for (int k = 1; k < step; ++k) maker.a(row, k, small);
  }
  for (int column = 0; column < columns; ++column) {
    maker.b(column, 0, 16);
    for (int k = 1; k < step; ++k) maker.b(column, k, seen[column] >> k & 1);
  }
  return maker.sums();
}

SumCase small_with_addend(bool is_f16, bool addend_is_large, bool fractions) {
  Maker maker(is_f16, small_behind_addend);
  for (int row = 0; row < rows; ++row) {
    const double sign = row < 32 ? 1 : -1, small = std::ldexp(fractions ? 1.625 : 1, 8 - row % 32);
    for (int k = 0; k < step; ++k) maker.a(row, k, addend_is_large ? sign * small : 16);
    for (int column = 0; column < columns; ++column)
      maker.c(row, column, addend_is_large ? 256 : sign * small * (1 + column * 0.0625));
  }
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < step; ++k)
      maker.b(column, k,
              addend_is_large   ? ((seen[column] | 1) >> k & 1)
              : k == column * 2 ? 16
                                : 0);
  return maker.sums();
}

// +large at i, -large at j, and small elsewhere and in C, which is large itself in some columns.
SumCase cancellation(bool is_f16, std::uint64_t seed) {
  Maker maker(is_f16, cancelling);
  Random random(seed);
  const int distance = 18 + static_cast<int>(seed % 10);
  for (int row = 0; row < rows; ++row) {
    const int i = random.below(step), j = random.below(step);
    for (int k = 0; k < step; ++k) maker.a(row, k, std::ldexp(random.number(3, 0), 10 - distance));
    maker.a(row, i, 1024);
    maker.a(row, j, i == j ? 0 : -1024);
    for (int column = 0; column < columns; ++column) {
      const double small = std::ldexp(1 + column * 0.125, 10 - distance);
      maker.c(row, column, column < 4 ? small : column % 2 == 0 ? 1024 : -1024 - small);
    }
  }
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < step; ++k) maker.b(column, k, 1);
  return maker.sums();
}

// 1 + n 2^-26 or so, by a product or by C, of both signs; and 1 - n 2^-27.
SumCase between_floats(bool is_f16, bool negative) {
  Maker maker(is_f16, rounding);
  for (int row = 0; row < rows; ++row) {
    maker.a(row, 0, negative ? -1 : 1);
    maker.a(row, 1, std::ldexp(row, -13));
    maker.a(row, 9, std::ldexp(row % 8, -14));
  }
  for (int column = 0; column < columns; ++column) {
    maker.b(column, 0, column < 4 ? 1 : 0);
    maker.b(column, 1, std::ldexp(column % 2 == 0 ? 1 : -1, -13));
    maker.b(column, 9, column % 4 < 2 ? 0 : std::ldexp(1, -13));
    for (int row = 0; row < rows; ++row) maker.c(row, column, column < 4 ? 0 : negative ? -1 : 1);
  }
  return maker.sums();
}

// Products of significands from 1 to almost 2, so that half of them reach 2.
SumCase products_from_2(bool is_f16, std::uint64_t seed) {
  Maker maker(is_f16, wide_products);
  Random random(seed);
  const int bits = significand(is_f16);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < step; ++k)
      maker.a(row, k,
              k == 0 ? random.number(bits, 3)
                     : random.sign() * std::ldexp(random.number(bits, 0), -8 - row % 8));
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < step; ++k)
      maker.b(column, k, k == 0 ? random.number(bits, 3) : std::ldexp(random.number(bits, 0), -5));
  return maker.sums();
}

// Inputs, C and sums around the least normal numbers of input type and f32.
SumCase denormals(bool is_f16, std::uint64_t seed, SumKind kind) {
  Maker maker(is_f16, kind);
  Random random(seed);
  const int bits = significand(is_f16),
            terms = kind == denormal ? 1 + static_cast<int>(seed % 3) : step;
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < terms; ++k)
      maker.a(row, k * (step / terms),
              random.sign() * random.number(bits, is_f16 ? random.between(-24, -12)
                                                         : random.between(-133, -122)));
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < step; ++k)
      maker.b(column, k,
              random.number(bits, is_f16       ? random.between(-24, 4)
                                  : column < 4 ? random.between(-12, 6)
                                               : random.between(0, 20)));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const int least = is_f16 && column % 2 == 0 ? -50 : -149;
      const bool is_zero = random.below(3) == 0;
      maker.c(row, column,
              is_zero ? 0 : random.sign() * random.number(24, least + random.below(30)));
    }
  return maker.sums();
}

SumCase specials(bool is_f16, std::uint64_t seed) {
  Maker maker(is_f16, special);
  Random random(seed);
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = is_f16 ? 65504 : std::ldexp(255, 120), huge = is_f16 ? 32768 : 0x1p127;
  const double values[] = {infinity, -infinity, std::nan(""), 0.0, -0.0,
                           largest,  -largest,  huge,         1};
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < step; ++k)
      maker.a(row, k,
              k == row % step || random.below(12) == 0 ? values[random.below(9)] : row < 48);
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < step; ++k)
      maker.b(column, k, random.below(10) == 0 ? values[random.below(9)] : column < 6 ? 1 : -1);
  static constexpr std::uint32_t addends[] = {0,          0x80000000, 0x3f800000, 0x7f800000,
                                              0xff800000, 0x7fc01234, 0xffa00001, 0x7f7fffff,
                                              0xff7fffff, 0x7f000000, 0x00000001};
  for (int i = 0; i < rows * columns; ++i)
    std::memcpy(&maker.sums().c[i], &addends[random.below(seed % 2 == 0 ? 3 : 11)], 4);
  for (int k = 0; k < step; ++k) {  // zeros of both signs, and what cancels
    maker.a(60, k, 0.0);
    maker.a(61, k, -0.0);
    maker.a(62, k, k == 3 ? 1 : k == 12 ? -1 : 0.0);
    maker.a(63, k, k == 3 ? -1 : k == 12 ? 1 : -0.0);
  }
  // One payload of each type's own.
  maker.sums().a[5 * SumCase::depth + 3] = is_f16 ? 0xfe01 : 0xffc1;
  maker.sums().a[6 * SumCase::depth + 3] = is_f16 ? 0x7d01 : 0x7f81;
  return maker.sums();
}

// Exponents of A and B within +-spread, C's within twice that and `lift` above.
SumCase random_case(bool is_f16, SumKind kind, int spread, int lift, int steps,
                    std::uint64_t seed) {
  Maker maker(is_f16, kind, steps);
  Random random(seed);
  const int bits = significand(is_f16);
  const auto sign = [&] { return kind == random_signs_alike ? 1.0 : random.sign(); };
  const auto value = [&] {
    return random.below(16) == 0 ? 0
                                 : sign() * random.number(bits, random.between(-spread, spread));
  };
  for (int k = 0; k < steps * step; ++k) {
    for (int row = 0; row < rows; ++row) maker.a(row, k, value());
    for (int column = 0; column < columns; ++column) maker.b(column, k, value());
  }
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      maker.c(row, column,
              sign() * random.number(24, lift + random.between(-2 * spread, 2 * spread)));
  maker.sums().accumulate = kind != random_without_addend;
  return maker.sums();
}

void add_random(bool is_f16, std::vector<SumCase>& all) {
  std::uint64_t seed = is_f16 ? 2000 : 1000;
  for (const int spread : {0, 1, 2, 4, 7, is_f16 ? 10 : 14, is_f16 ? 13 : 40}) {
    for (int i = 0; i < 10; ++i)
      all.push_back(random_case(is_f16, random_sums, spread, (i % 5 - 1) * 4, 1, ++seed));
    for (int i = 0; i < 4; ++i)
      all.push_back(random_case(is_f16, random_signs_alike, spread, i * 4, 1, ++seed));
    for (int i = 0; i < 4; ++i)
      all.push_back(random_case(is_f16, random_chain, spread, i * 2, 2 + i % 3, ++seed));
    all.push_back(random_case(is_f16, random_without_addend, spread, 4, 1, ++seed));
  }
  for (int i = 0; i < 10; ++i) all.push_back(denormals(is_f16, ++seed, random_denormal));
}

}  // namespace

const char* name_of(SumKind kind) {
  static constexpr const char* names[] = {"small behind large",
                                          "small behind addend",
                                          "cancelling",
                                          "rounding",
                                          "wide products",
                                          "denormal",
                                          "special",
                                          "random",
                                          "random of one sign",
                                          "random denormal",
                                          "random chain",
                                          "random without addend"};
  return names[kind];
}

std::uint16_t to_16_bits(double value, bool is_f16) {
  const auto narrow = static_cast<float>(value);  // exact for all numbers of these types
  return is_f16 ? vgpu::to_f16(narrow) : vgpu::to_bf16(narrow);
}

float from_16_bits(std::uint16_t bits, bool is_f16) {
  return is_f16 ? vgpu::from_f16(bits) : vgpu::from_bf16(bits);
}

std::vector<SumCase> make_sum_cases(bool is_f16) {
  std::vector<SumCase> all;
  for (const double large : {1.0, -1.0, 1.75})
    for (const bool fractions : {false, true})
      all.push_back(small_products(is_f16, large, fractions));
  for (const bool addend_is_large : {false, true})
    for (const bool fractions : {false, true})
      all.push_back(small_with_addend(is_f16, addend_is_large, fractions));
  for (std::uint64_t seed = 0; seed < 10; ++seed) all.push_back(cancellation(is_f16, seed));
  all.push_back(between_floats(is_f16, false));
  all.push_back(between_floats(is_f16, true));
  for (std::uint64_t seed = 0; seed < 4; ++seed) all.push_back(products_from_2(is_f16, seed));
  for (std::uint64_t seed = 0; seed < 6; ++seed) all.push_back(denormals(is_f16, seed, denormal));
  for (std::uint64_t seed = 0; seed < 8; ++seed) all.push_back(specials(is_f16, seed));
  add_random(is_f16, all);
  return all;
}

}  // namespace bwgemm::calibration
