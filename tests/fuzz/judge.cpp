// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "support/fused_formula.h"
#include "support/reference_gemm.h"
#include "support/tolerance.h"

namespace bwgemm::fuzz {
namespace {

using test::Allowed;
using test::Matrix;
using test::Operand;
using test::Product;
using test::Terms;
using test::Value;

constexpr double float_max = std::numeric_limits<float>::max();

// `magnitude` is of the products that are finite: what they add up to may leave float's range.
struct Element {
  double sum, magnitude;
  float before, after;
};

// Of a sum of integers, unless one was replaced by something else: a small number beside them is
// lost in their magnitude, and need not be in the sum.
bool is_exact(double sum, double magnitude) {
  const auto is_whole = [](double value) { return value == std::floor(value); };
  return magnitude < 0x1p20 && is_whole(magnitude) && is_whole(sum);
}

// Where the contract leaves room between numbers and NaN: sums that may leave float's range on the
// way, an infinite scalar times a sum that may be zero, and infinities of which rounding decides
// whether they meet.
bool is_excused(const Call& call, const Element& at) {
  if (call.scale_only() || std::isnan(at.sum)) return false;
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

std::string description(float got, const Value& expected) {
  std::ostringstream out;
  out.precision(9);
  out << "is " << got << ", the formula says " << expected.value << " -+ " << expected.error;
  return out.str();
}

// One batch of a call.
class Judge {
 public:
  Judge(const Call& call, const Evidence& evidence, std::int64_t batch)
      : call_(call),
        evidence_(evidence),
        batch_(batch),
        matrix_batch_(call.has_arrays() ? call.batch - 1 - batch : batch) {  // see operands.cpp
    if (call.scale_only()) return;
    product_ = test::product(Operand{&evidence.a, call.a_transposed(), matrix_batch_},
                             Operand{&evidence.b, call.b_transposed(), matrix_batch_});
  }

  // Calls wrong(description of the place, what is wrong) for each element.
  template <class Wrong>
  void look(const Wrong& wrong) const {
    const bool is_fused = call_.is_fused();
    for (std::int64_t line = 0; line < call_.lines(); ++line) {
      for (std::int64_t i = 0; i < call_.c_length(); ++i)
        is_fused ? look_at_fused(i, line, wrong) : look_at_plain(i, line, wrong);
      if (!call_.stores_aux()) continue;
      for (std::int64_t i = 0; i < call_.length(); ++i)
        compare("aux", i, line, evidence_.aux_after.get(i, line, batch_), before_curve(i, line),
                evidence_.aux_after.type(), wrong);
    }
    look_at_sums(wrong);
  }

 private:
  struct Place {
    std::int64_t row, column;
  };
  // Of the product, from a place in D's memory.
  Place place(std::int64_t i, std::int64_t line) const {
    return call_.extras.d_in_rows != 0 ? Place{line, i} : Place{i, line};
  }

  float c_before(const Place& at) const {
    const bool in_rows =
        (call_.extras.c_apart != 0 ? call_.extras.c_in_rows : call_.extras.d_in_rows) != 0;
    return in_rows ? evidence_.c.get(at.column, at.row, matrix_batch_)
                   : evidence_.c.get(at.row, at.column, matrix_batch_);
  }

  Element element(const Place& at, float after) const {
    Element element{0, 0, call_.beta != 0 ? c_before(at) : 0, after};
    if (!product_) return element;
    const std::size_t index =
        product_->index(static_cast<std::size_t>(at.row), static_cast<std::size_t>(at.column));
    element.sum = product_->sum[index];
    element.magnitude = product_->magnitude[index];
    if (!std::isfinite(element.magnitude)) element.magnitude = finite_magnitude(at);
    if (evidence_.integers && is_exact(element.sum, element.magnitude)) element.magnitude = 0;
    return element;
  }

  double finite_magnitude(const Place& at) const {
    const Operand a{&evidence_.a, call_.a_transposed(), matrix_batch_};
    const Operand b{&evidence_.b, call_.b_transposed(), matrix_batch_};
    double sum = 0;
    for (std::int64_t k = 0; k < call_.k; ++k) {
      const double one = static_cast<double>(a.get(at.row, k)) * b.get(k, at.column);
      if (std::isfinite(one)) sum += std::fabs(one);
    }
    return sum;
  }

  Value before_curve(std::int64_t i, std::int64_t line) const {
    const Place at = place(i, line);
    const Element element = this->element(at, 0);
    const Extras& extras = call_.extras;
    Terms terms{.k = call_.k, .alpha = call_.alpha, .beta = call_.beta, .c = element.before};
    if (extras.row_scale != 0) terms.row_scale = evidence_.row_scale.get(at.row, 0, batch_);
    if (extras.column_scale != 0)
      terms.column_scale = evidence_.column_scale.get(at.column, 0, batch_);
    if (extras.bias != 0)
      terms.bias =
          evidence_.bias.get(call_.bias() == Bias::along_n ? at.column : at.row, 0, batch_);
    return test::linear(terms, element.sum, element.magnitude);
  }

  template <class Wrong>
  void look_at_plain(std::int64_t i, std::int64_t line, const Wrong& wrong) const {
    const Element at = element(place(i, line), evidence_.after.get(i, line, matrix_batch_));
    if (!is_right(call_, at)) wrong(name("element", i, line), description(call_, at));
  }

  template <class Wrong>
  void look_at_fused(std::int64_t i, std::int64_t line, const Wrong& wrong) const {
    const Extras& extras = call_.extras;
    const auto activation = static_cast<bwgemmActivation_t>(extras.activation);
    const bool is_interleaved = extras.gate == BWGEMM_GATE_INTERLEAVED;
    const Value x = before_curve(is_interleaved ? 2 * i : i, line);
    Value expected{};
    if (extras.aux == BWGEMM_AUX_DERIVATIVE)
      expected = test::differentiated(activation, x, evidence_.aux.get(i, line, batch_));
    else if (extras.gate == BWGEMM_GATE_NONE)
      expected = test::activated(activation, x);
    else
      expected = test::gated(activation, x,
                             before_curve(is_interleaved ? 2 * i + 1 : i + call_.c_length(), line));
    compare("element", i, line, evidence_.after.get(i, line, matrix_batch_), expected,
            call_.output(), wrong);
  }

  template <class Wrong>
  void compare(const char* what, std::int64_t i, std::int64_t line, float got,
               const Value& expected, Dtype type, const Wrong& wrong) const {
    if (!test::is_close(got, expected, type))
      wrong(name(what, i, line), description(got, expected));
  }

  // Of D, those are summed that it holds.
  template <class Wrong>
  void look_at_sums(const Wrong& wrong) const {
    const Evidence& of = evidence_;
    const auto of_c = [&](std::int64_t row, std::int64_t column) {
      return call_.extras.d_in_rows != 0 ? of.after.get(column, row, matrix_batch_)
                                         : of.after.get(row, column, matrix_batch_);
    };
    const Operand a{&of.a, call_.a_transposed(), matrix_batch_};
    const Operand b{&of.b, call_.b_transposed(), matrix_batch_};
    for (std::int64_t i = 0; i < of.gradient.rows() && !call_.is_empty(); ++i) {
      const auto sum = [&](std::int64_t terms, const auto& term) {
        const Value expected = test::added_up(terms, [&](std::int64_t j) { return term(j); });
        const float got = of.gradient.get(i, 0, batch_);
        if (!test::is_close(got, expected, of.gradient.type()))
          wrong("bias gradient " + std::to_string(i) + " of batch " + std::to_string(batch_),
                description(got, expected));
      };
      switch (call_.extras.gradient) {
        case BWGEMM_BIAS_GRADIENT_D_ROWS:
          sum(call_.c_columns(), [&](std::int64_t j) { return of_c(i, j); });
          break;
        case BWGEMM_BIAS_GRADIENT_D_COLUMNS:
          sum(call_.c_rows(), [&](std::int64_t j) { return of_c(j, i); });
          break;
        case BWGEMM_BIAS_GRADIENT_A:
          sum(call_.k, [&](std::int64_t j) { return a.get(i, j); });
          break;
        default: sum(call_.k, [&](std::int64_t j) { return b.get(j, i); }); break;
      }
    }
  }

  std::string name(const char* what, std::int64_t i, std::int64_t line) const {
    std::ostringstream out;
    const Place at = place(i, line);
    out << what << " (" << at.row << ", " << at.column << ") of batch " << batch_;
    return out.str();
  }

  const Call& call_;
  const Evidence& evidence_;
  const std::int64_t batch_, matrix_batch_;
  std::optional<Product> product_;
};

}  // namespace

std::string judged(const Call& call, const Evidence& evidence) {
  std::int64_t wrong = 0;
  std::string first;
  for (std::int64_t batch = 0; batch < call.batch; ++batch)
    Judge(call, evidence, batch).look([&](const std::string& place, const std::string& what) {
      if (++wrong == 1) first = place + ' ' + what;
    });
  if (wrong == 0) return "";
  const std::int64_t elements = call.c_length() * call.lines() * call.batch;
  return first + "; " + std::to_string(wrong) + " of " + std::to_string(elements) +
         " elements are wrong";
}

}  // namespace bwgemm::fuzz
