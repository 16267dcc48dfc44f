// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "support/reference_gemm.h"
#include "support/tolerance.h"

namespace bwgemm::fuzz {
namespace {

using test::Allowed;
using test::Matrix;
using test::Operand;
using test::Product;

constexpr double float_max = std::numeric_limits<float>::max();

struct Element {
  double sum, magnitude;
  float before, after;
};

// Of a sum of integers, unless one was replaced by something else.
bool is_exact(double magnitude) {
  return magnitude < 0x1p20 && magnitude == std::floor(magnitude);
}

// Where the contract leaves room between numbers and NaN: sums that may leave float's range on the
// way, an infinite scalar times a sum that may be zero, and infinities of which rounding decides
// whether they meet.
bool is_excused(const Call& call, const Element& at) {
  if (call.scale_only()) return false;
  if (at.magnitude >= 0x1p127) return !std::isfinite(at.after);
  if (!std::isfinite(at.sum)) return false;
  const double error = static_cast<double>(call.k + 16) * (0x1p-23 * at.magnitude + 0x1p-126);
  const bool sum_may_be_zero = at.magnitude > 0 && std::fabs(at.sum) <= error;
  if (std::isinf(call.alpha) && sum_may_be_zero) return !std::isfinite(at.after);
  const float scaled_c = call.beta == 0 ? 0 : call.beta * at.before;
  const double largest = std::fabs(call.alpha) * (std::fabs(at.sum) + error);
  return std::isinf(scaled_c) && largest >= float_max * 0.999 && !std::isfinite(at.after);
}

bool is_right(const Call& call, const Element& at) {
  const Allowed allowed = test::allowed_result(at.sum, at.magnitude, call.k, call.alpha, call.beta,
                                               at.before, call.output());
  if (!test::is_allowed(at.after, allowed)) return is_excused(call, at);
  // Without a product the sign of a zero is known, too.
  if (!call.scale_only() || call.beta == 0 || std::isnan(at.after)) return true;
  return std::bit_cast<std::uint32_t>(at.after) == std::bit_cast<std::uint32_t>(allowed.low);
}

std::string description(const Call& call, const Element& at) {
  const Allowed allowed = test::allowed_result(at.sum, at.magnitude, call.k, call.alpha, call.beta,
                                               at.before, call.output());
  std::ostringstream out;
  out.precision(9);
  out << "is " << at.after << ", allowed is ";
  if (allowed.nan)
    out << "NaN";
  else
    out << '[' << allowed.low << ", " << allowed.high << ']';
  out << ", sum " << at.sum << ", before " << at.before;
  return out.str();
}

}  // namespace

std::string judged(const Call& call, bool integers, const Matrix& a, const Matrix& b,
                   const Matrix& before, const Matrix& after) {
  std::int64_t wrong = 0;
  std::ostringstream first;
  for (std::int64_t batch = 0; batch < call.batch; ++batch) {
    std::optional<Product> product;
    if (!call.scale_only())
      product =
          test::product(Operand{&a, call.transa != 0, batch}, Operand{&b, call.transb != 0, batch});
    for (std::int64_t row = 0; row < call.m; ++row)
      for (std::int64_t column = 0; column < call.n; ++column) {
        Element at{0, 0, before.get(row, column, batch), after.get(row, column, batch)};
        if (product) {
          const std::size_t index =
              product->index(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
          at.sum = product->sum[index];
          at.magnitude = product->magnitude[index];
          if (integers && is_exact(at.magnitude)) at.magnitude = 0;
        }
        if (is_right(call, at) || ++wrong > 1) continue;
        first << "element (" << row << ", " << column << ") of batch " << batch << ' '
              << description(call, at);
      }
  }
  if (wrong == 0) return "";
  first << "; " << wrong << " of " << call.m * call.n * call.batch << " elements are wrong";
  return first.str();
}

}  // namespace bwgemm::fuzz
