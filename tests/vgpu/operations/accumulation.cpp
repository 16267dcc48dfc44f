// SPDX-License-Identifier: Apache-2.0
#include "vgpu/operations/accumulation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t most_depth = 32, most_terms = most_depth + 1;  // products and a sum
constexpr int float_fraction = 23, least_float_exponent = -126;
constexpr std::uint32_t infinity_bits = 0x7f800000;

// value = mantissa * 2^(exponent - fraction); denormal numbers have the least exponent of their
// type.
struct Term {
  std::int64_t mantissa;
  int exponent, fraction;
};

int least_exponent(MmaElement element) {
  switch (element) {
    case MmaElement::f16:
    case MmaElement::e5m2: return -14;
    case MmaElement::e4m3: return -6;
    default: return least_float_exponent;
  }
}

Term term_of(float value, int least) {
  const std::uint32_t bits = bits_of(value);
  const int field = static_cast<int>(bits >> float_fraction & 0xff);
  const std::int64_t stored = bits & 0x7fffff;
  Term term{field != 0 ? stored | 0x800000 : stored, field != 0 ? field - 127 : -126,
            float_fraction};
  if (term.exponent < least) {  // denormal in a narrower type
    term.mantissa >>= std::min(least - term.exponent, 63);
    term.exponent = least;
  }
  if (bits >> 31) term.mantissa = -term.mantissa;
  return term;
}

int width(std::int64_t mantissa) {
  return mantissa == 0 ? 0 : 64 - __builtin_clzll(static_cast<std::uint64_t>(std::abs(mantissa)));
}

// The product's bits, without the zeros that f32 has behind a narrower type's.
Term product_of(const Accumulation& how, float a, float b, int least) {
  constexpr int unused = 12;  // bits: what tf32 leaves of f32 is the widest
  const Term x = term_of(a, least), y = term_of(b, least);
  Term product{(x.mantissa >> unused) * (y.mantissa >> unused), x.exponent + y.exponent,
               2 * (float_fraction - unused)};
  const int carry = width(product.mantissa) - 1 - product.fraction;
  if (how.normalises && product.mantissa != 0 && carry > 0) {
    product.exponent += carry;
    product.fraction += carry;
  }
  return product;
}

std::int64_t aligned(const Accumulation& how, const Term& term, int exponent) {
  const int shift = how.fraction_bits - (exponent - term.exponent) - term.fraction;
  if (shift >= 0) return term.mantissa * (std::int64_t{1} << std::min(shift, 40));
  const int right = std::min(-shift, 62);
  if (how.cut == Accumulation::Cut::down) return term.mantissa >> right;
  std::int64_t magnitude = std::abs(term.mantissa);
  if (how.cut == Accumulation::Cut::nearest) magnitude += std::int64_t{1} << (right - 1);
  magnitude >>= right;
  return term.mantissa < 0 ? -magnitude : magnitude;
}

float rounded(const Accumulation& how, std::int64_t sum, int exponent) {
  if (sum == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(sum));
  const int unit = exponent - how.fraction_bits;
  const int top = width(sum) - 1 + unit;
  const int last = std::max(top, least_float_exponent) - float_fraction, drop = last - unit;
  if (how.flushes && top < least_float_exponent) return sum < 0 ? -0.0f : 0.0f;
  std::uint64_t kept = magnitude;
  int scale = unit;
  if (drop > 0) {
    const int dropped = std::min(drop, 63);
    kept = magnitude >> dropped;
    scale = last;
    if (how.rounding == Accumulation::Rounding::nearest) {
      const std::uint64_t rest = magnitude - (kept << dropped), half = 1ull << (dropped - 1);
      kept += rest > half || (rest == half && kept % 2 != 0);
    }
  }
  double value = std::ldexp(static_cast<double>(kept), scale);
  if (how.largest_on_overflow) value = std::min(value, 0x1.fffffep127);
  if (value >= 0x1p128) value = HUGE_VAL;
  return static_cast<float>(sum < 0 ? -value : value);
}

float sum_of(const Accumulation& how, const Term* terms, std::uint32_t count) {
  int exponent = how.least_exponent;
  for (std::uint32_t i = 0; i < count; ++i)
    if (terms[i].mantissa != 0 || how.zero_counts) exponent = std::max(exponent, terms[i].exponent);
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += aligned(how, terms[i], exponent);
  return rounded(how, sum, exponent);
}

bool is_finite(float value) {
  return (bits_of(value) & infinity_bits) != infinity_bits;
}

// Finite products do not matter beside the others, and must not overflow on their way.
float sum_of_specials(const Accumulation& how, float sum, const float* a, const float* b,
                      std::uint32_t b_pitch, std::uint32_t depth) {
  const auto sign_of = [](float value) {
    return is_finite(value) ? std::copysign(value == 0 ? 0.0f : 1.0f, value) : value;
  };
  float special = is_finite(sum) ? 0 : sum;
  for (std::uint32_t k = 0; k < depth; ++k) {
    const float product = sign_of(a[k]) * sign_of(b[k * b_pitch]);
    if (!is_finite(product)) special += product;
  }
  return std::isnan(special) ? float_from_bits(how.nan) : special;
}

// The usual case of accumulate_all: sums cut toward zero in one group. A stripe of columns at a
// time, in whole units of the last bit that is kept: 32 bits hold the sum of eight products and an
// addend. A product of two numbers of at most 12 bits is exact in f32, or so small that it is cut
// to zero, if the largest is near one. Junk is not: it goes the longer way, in f64.
constexpr std::uint32_t stripe = 32, together = 8, most_parts = most_depth / together;
constexpr int most_fraction_bits = 26, near_least = -90, near_most = 125;  // exponents
constexpr std::int32_t all_zeros = -500;     // below the exponent of any product
constexpr std::int32_t of_nothing = -10000;  // an exponent that counts beside no other

struct Alignment {
  int fraction_bits, least_exponent, least_of_element;
};

// How far a row of A or a column of B is from ordinary numbers.
enum class Numbers : std::int32_t { finite, infinite, nan };

inline Numbers kind_of(float value) {
  const std::uint32_t magnitude = bits_of(value) & 0x7fffffff;
  return static_cast<Numbers>((magnitude >= infinity_bits) + (magnitude > infinity_bits));
}

// The exponent of a number, at least that of denormal numbers of its type.
inline std::int32_t exponent_of(float value, std::int32_t least) {
  const auto field = static_cast<std::int32_t>(bits_of(value) >> float_fraction & 0xff) - 127;
  return value == 0 || field > 127 ? of_nothing : std::max(field, least);
}

// What of a stripe of B is the same for all rows of A. Behind the last column and step are zeros.
struct Columns {
  float values[most_depth][stripe];
  std::int32_t exponents[most_depth][stripe];
  Numbers numbers[stripe];
};

__attribute__((target_clones("avx512f", "avx2", "default"))) void look_at(
    const Alignment& how, Rows<const float> b, std::uint32_t columns, std::uint32_t depth,
    Columns& __restrict__ result) {
  std::fill_n(result.numbers, stripe, Numbers::finite);
  for (std::uint32_t k = 0; k < (depth + together - 1) / together * together; ++k) {
    float* const row = result.values[k];
    std::fill_n(row, stripe, 0.0f);
    if (k < depth) std::copy_n(b[k], columns, row);
    for (std::uint32_t j = 0; j < stripe; ++j) {
      result.exponents[k][j] = exponent_of(row[j], how.least_of_element);
      result.numbers[j] = std::max(result.numbers[j], kind_of(row[j]));
    }
  }
}

// A row of A, with zeros behind it.
struct RowOfA {
  float values[most_depth];
  std::int32_t exponents[most_depth];
  Numbers numbers;
};

RowOfA look_at(const Alignment& how, const float* a, std::uint32_t depth) {
  RowOfA row{};
  std::copy_n(a, depth, row.values);
  for (std::uint32_t k = 0; k < most_depth; ++k) {
    row.exponents[k] = exponent_of(row.values[k], how.least_of_element);
    row.numbers = std::max(row.numbers, kind_of(row.values[k]));
  }
  return row;
}

// The largest exponents of the terms.
[[gnu::always_inline]] inline void align(const Alignment& how, const float* d, const RowOfA& a,
                                         const Columns& b, std::uint32_t parts,
                                         std::int32_t* __restrict__ exponents) {
  for (std::uint32_t j = 0; j < stripe; ++j)
    exponents[j] = std::max(exponent_of(d[j], least_float_exponent), how.least_exponent);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::int32_t* const of_a = a.exponents + part * together;
    const auto* const of_b = b.exponents + part * together;
    for (std::uint32_t j = 0; j < stripe; ++j) {
      std::int32_t largest = exponents[j];
#pragma GCC unroll 8
      for (std::uint32_t k = 0; k < together; ++k)
        largest = std::max(largest, of_a[k] + of_b[k][j]);
      exponents[j] = largest;
    }
  }
}

// Of terms that are aligned to the exponent, so that the last bit that is kept is one.
inline double scale_of(const Alignment& how, std::int32_t exponent) {
  const auto field = static_cast<std::uint64_t>(1023 + how.fraction_bits - exponent);
  return std::bit_cast<double>(field << 52);
}

// The sums of all terms, in units of the last bit that is kept.
[[gnu::always_inline]] inline void add_far(const Alignment& how, const float* d, const RowOfA& a,
                                           const Columns& b, std::uint32_t parts,
                                           const std::int32_t* exponents,
                                           double* __restrict__ sums) {
  double scales[stripe];
  for (std::uint32_t j = 0; j < stripe; ++j) {
    scales[j] = scale_of(how, exponents[j]);
    sums[j] = __builtin_trunc(double{d[j]} * scales[j]);
  }
  for (std::uint32_t k = 0; k < parts * together; ++k)
    for (std::uint32_t j = 0; j < stripe; ++j)
      sums[j] += __builtin_trunc(double{a.values[k]} * double{b.values[k][j]} * scales[j]);
}

[[gnu::always_inline]] inline void add_near(const Alignment& how, const float* d, const RowOfA& a,
                                            const Columns& b, std::uint32_t parts,
                                            const std::int32_t* exponents,
                                            double* __restrict__ sums) {
  float scales[stripe];
  for (std::uint32_t j = 0; j < stripe; ++j) {
    const auto field = static_cast<std::uint32_t>(127 + how.fraction_bits - exponents[j]);
    scales[j] = std::bit_cast<float>(field << float_fraction);
    sums[j] = static_cast<std::int32_t>(d[j] * scales[j]);
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    const float* const of_a = a.values + part * together;
    const auto* const of_b = b.values + part * together;
    std::uint32_t units[stripe];
    for (std::uint32_t j = 0; j < stripe; ++j) {
      std::uint32_t sum = 0;
#pragma GCC unroll 8
      for (std::uint32_t k = 0; k < together; ++k)
        sum +=
            static_cast<std::uint32_t>(static_cast<std::int32_t>(of_a[k] * of_b[k][j] * scales[j]));
      units[j] = sum;
    }
    for (std::uint32_t j = 0; j < stripe; ++j) sums[j] += static_cast<std::int32_t>(units[j]);
  }
}

// A sum below the normal numbers comes out as NaN. Where A, B or D are not finite, the result is
// any.
__attribute__((target_clones("avx512f", "avx2", "default"))) void accumulate_row(
    const Alignment& how, const float* d, const RowOfA& a, const Columns& b, std::uint32_t parts,
    float* __restrict__ result) {
  std::int32_t exponents[stripe], are_far = 0;
  align(how, d, a, b, parts, exponents);
  for (std::uint32_t j = 0; j < stripe; ++j) {
    exponents[j] = exponents[j] <= all_zeros ? 0 : exponents[j];
    are_far |= (exponents[j] < near_least) | (exponents[j] > near_most);
  }
  double sums[stripe];
  if (are_far)
    add_far(how, d, a, b, parts, exponents, sums);
  else
    add_near(how, d, a, b, parts, exponents, sums);
  for (std::uint32_t j = 0; j < stripe; ++j) {
    const double sum = sums[j] * scale_of({-how.fraction_bits, 0, 0}, -exponents[j]);
    constexpr std::uint64_t beyond_float = (std::uint64_t{1} << 29) - 1;
    const double cut = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) & ~beyond_float);
    const bool is_below = __builtin_fabs(cut) < 0x1p-126 && (cut != 0 || exponents[j] < -100);
    result[j] = is_below ? __builtin_nanf("") : static_cast<float>(cut) + 0.0f;
  }
}

// Whether products change a sum that comes out as a number or an infinity: NaN stays NaN, and an
// infinity what it is beside finite products.
inline bool counts(Numbers of_products, Numbers of_sum) {
  return of_products != Numbers::nan && of_sum != Numbers::nan &&
         (of_sum == Numbers::finite || of_products != Numbers::finite);
}

// Sums of poison soon do not, in all columns of it.
bool any_counts(const float* d, Numbers of_a, const Columns& b) {
  for (std::uint32_t j = 0; j < stripe; ++j)
    if (counts(std::max(of_a, b.numbers[j]), kind_of(d[j]))) return true;
  return false;
}

// Puts the sums into D where they count. True: some of D are left as they were, for want of a sum.
__attribute__((target_clones("avx512f", "avx2", "default"))) bool replace(
    float* __restrict__ d, Numbers of_a, const Columns& b, const float* sums, float nan) {
  std::int32_t left = 0;
  for (std::uint32_t j = 0; j < stripe; ++j) {
    const auto of_products = static_cast<std::int32_t>(std::max(of_a, b.numbers[j]));
    const auto of_sum = static_cast<std::int32_t>(kind_of(d[j]));
    const std::int32_t is_nan = (of_products | of_sum) >> 1;
    const std::int32_t is_missing = (of_products == 1) | ((of_sum == 0) & (sums[j] != sums[j]));
    left |= is_missing & ~is_nan;
    const float number = (of_sum != 0) | (is_missing != 0) ? d[j] : sums[j];
    d[j] = is_nan ? nan : number;
  }
  return left != 0;
}

void accumulate_stripe(const Accumulation& how, MmaElement element, std::span<const RowOfSums> rows,
                       Rows<const float> b, std::uint32_t columns, std::uint32_t depth) {
  const Alignment usual{how.fraction_bits, how.least_exponent, least_exponent(element)};
  const float nan = float_from_bits(how.nan);
  Columns of_b;
  look_at(usual, b, columns, depth, of_b);
  for (const auto& [d, a] : rows) {
    const RowOfA of_a = look_at(usual, a, depth);
    float before[stripe]{}, after[stripe], sums[stripe]{};
    std::copy_n(d, columns, before);
    std::copy_n(before, stripe, after);
    if (of_a.numbers == Numbers::finite && any_counts(before, of_a.numbers, of_b))
      accumulate_row(usual, before, of_a, of_b, (depth + together - 1) / together, sums);
    const bool some_are_left = replace(after, of_a.numbers, of_b, sums, nan);
    std::copy_n(after, columns, d);
    for (std::uint32_t j = 0; j < columns && some_are_left; ++j) {
      const Numbers of_products = std::max(of_a.numbers, of_b.numbers[j]);
      if (counts(of_products, kind_of(before[j])) &&
          (of_products == Numbers::infinite || std::isnan(sums[j])))
        d[j] = accumulate(how, element, before[j], a, b.first + j, b.pitch, depth);
    }
  }
}

void accumulate_usual(const Accumulation& how, MmaElement element, std::span<const RowOfSums> rows,
                      Rows<const float> b, std::uint32_t columns, std::uint32_t depth) {
  std::vector<RowOfSums> of_stripe(rows.begin(), rows.end());
  for (std::uint32_t first = 0; first < columns; first += stripe) {
    accumulate_stripe(how, element, of_stripe, {b.first + first, b.pitch},
                      std::min(stripe, columns - first), depth);
    for (RowOfSums& row : of_stripe) row.d += stripe;
  }
}

}  // namespace

std::string to_string(const Accumulation& how) {
  if (how.in_turn) return "in turn";
  static constexpr const char* cuts[] = {"toward zero", "down", "to nearest"};
  std::string text("groups of ");
  text.append(std::to_string(how.group)).append(how.interleaved ? " interleaved" : "");
  text.append(", ").append(std::to_string(how.fraction_bits)).append(" bits");
  text.append(how.normalises ? " below normalised products" : "");
  text.append(", terms cut ").append(cuts[static_cast<int>(how.cut)]);
  text.append(", sums ").append(how.rounding == Accumulation::Rounding::nearest ? "to nearest"
                                                                                : "toward zero");
  text.append(how.addend_first ? "" : ", addend last");
  if (how.least_exponent != Accumulation::no_exponent)
    text.append(", exponent at least ").append(std::to_string(how.least_exponent));
  text.append(how.zero_counts ? ", zeros have exponents" : "");
  text.append(how.largest_on_overflow ? ", saturating" : "");
  text.append(how.keeps_minus_zero ? ", keeps -0" : "");
  return text.append(how.flushes ? ", flushes" : "");
}

// Measured 2026-11-21 on an H200 (calibration/, question 3): all bits of 374784 sums of bf16 and
// f16. What remains of the defaults is part of that result.
Accumulation hopper_accumulation(MmaElement element) {
  const bool is_measured = element == MmaElement::bf16 || element == MmaElement::f16;
  return {.in_turn = !is_measured};
}

float accumulate(const Accumulation& how, MmaElement element, float sum, const float* a,
                 const float* b, std::uint32_t b_pitch, std::uint32_t depth) {
  if (how.in_turn) {
    for (std::uint32_t k = 0; k < depth; ++k) sum += a[k] * b[k * b_pitch];
    return sum;
  }
  bool is_plain = is_finite(sum), minus = bits_of(sum) == 0x80000000;
  for (std::uint32_t k = 0; k < depth; ++k) {
    is_plain &= is_finite(a[k]) && is_finite(b[k * b_pitch]);
    minus &= bits_of(a[k] * b[k * b_pitch]) == 0x80000000;
  }
  if (!is_plain) return sum_of_specials(how, sum, a, b, b_pitch, depth);
  if (how.keeps_minus_zero && minus) return -0.0f;
  const int least = least_exponent(element);
  const std::uint32_t group = std::min(how.group, depth), groups = depth / group;
  for (std::uint32_t g = 0; g < groups && is_finite(sum); ++g) {
    Term terms[most_terms];
    for (std::uint32_t i = 0; i < group; ++i) {
      const std::uint32_t k = how.interleaved ? i * groups + g : g * group + i;
      terms[i] = product_of(how, a[k], b[k * b_pitch], least);
    }
    Term& last = terms[group];
    last = term_of(sum, least_float_exponent);
    if (how.addend_first) {
      sum = sum_of(how, terms, group + 1);
    } else {
      const Term two[] = {term_of(sum_of(how, terms, group), least_float_exponent), last};
      sum = sum_of(how, two, 2);
    }
  }
  return sum;
}

void accumulate_all(const Accumulation& how, MmaElement element, std::span<const RowOfSums> rows,
                    Rows<const float> b, std::uint32_t columns, std::uint32_t depth) {
  const bool is_usual = !how.in_turn && how.fraction_bits <= most_fraction_bits &&
                        how.group >= depth && how.addend_first && !how.normalises && !how.flushes &&
                        !how.zero_counts && !how.keeps_minus_zero &&
                        how.cut == Accumulation::Cut::toward_zero &&
                        how.rounding == Accumulation::Rounding::toward_zero;
  if (is_usual) return accumulate_usual(how, element, rows, b, columns, depth);
  for (const auto& [d, a] : rows)
    for (std::uint32_t j = 0; j < columns; ++j)
      d[j] = accumulate(how, element, d[j], a, b.first + j, b.pitch, depth);
}

}  // namespace bwgemm::vgpu
