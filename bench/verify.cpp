// SPDX-License-Identifier: Apache-2.0
#include "verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "gpu.h"

namespace bwgemm::bench {

namespace {

template <class Body>
void in_parallel(std::int64_t count, const Body& body) {
  const auto workers = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (std::int64_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([=, &body] {
      for (std::int64_t i = worker; i < count; i += workers) body(i);
    });
  for (std::thread& thread : threads) thread.join();
}

class HostMatrix {
 public:
  HostMatrix(const void* source, const BenchMatrix& matrix, std::int64_t batch)
      : matrix_(matrix),
        bytes_(static_cast<std::size_t>(matrix.span(batch) * size_bytes(matrix.type))) {
    if (!bytes_.empty())
      check(driver().cuMemcpyDtoH(bytes_.data(), reinterpret_cast<CUdeviceptr>(source),
                                  bytes_.size()),
            "cuMemcpyDtoH");
  }
  double at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    const std::int64_t index = matrix_.index(batch, row, column);
    if (matrix_.type == BWGEMM_R_32F) {
      float value = 0;
      std::memcpy(&value, bytes_.data() + 4 * index, 4);
      return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes_.data() + 2 * index, 2);
    return widen(bits, matrix_.type);
  }

 private:
  const BenchMatrix matrix_;
  std::vector<char> bytes_;
};

using CBefore = std::function<double(std::int64_t)>;

// The problem's matrices on the host, indexed as op(A), op(B) and C.
class HostProblem {
 public:
  HostProblem(const BenchProblem& p, const Pointers& at, const CBefore& c_before)
      : p_(p),
        c_before_(c_before),
        a_(at.a, p.a, p.batch),
        b_(at.b, p.b, p.batch),
        c_(at.c, p.c, p.batch),
        residual_(at.residual, p.residual(), p.batch),
        bias_(at.bias, p.bias(), p.batch),
        aux_(at.aux, p.aux(), p.batch) {}

  double a(std::int64_t batch, std::int64_t i, std::int64_t l) const {
    return p_.transa ? a_.at(batch, l, i) : a_.at(batch, i, l);
  }
  double b(std::int64_t batch, std::int64_t l, std::int64_t j) const {
    return p_.transb ? b_.at(batch, j, l) : b_.at(batch, l, j);
  }
  double c(std::int64_t batch, std::int64_t i, std::int64_t j) const { return c_.at(batch, i, j); }

  // beta C and the bias, for which the gate's rows are the product's.
  double beta_c(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    if (p_.beta == 0) return 0;
    return p_.beta *
           (p_.epilogue.residual ? residual_.at(batch, i, j) : c_before_(p_.c.index(batch, i, j)));
  }
  double bias(std::int64_t batch, std::int64_t i) const {
    return p_.epilogue.bias ? bias_.at(batch, i, 0) : 0;
  }
  double aux(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    return aux_.at(batch, i, j);
  }

 private:
  const BenchProblem& p_;
  const CBefore& c_before_;
  HostMatrix a_, b_, c_, residual_, bias_, aux_;
};

// Rounding to a type: relative, and absolute where numbers are denormal.
struct Rounding {
  double unit, floor;
};

Rounding rounding(bwgemmDataType_t type) {
  if (type == BWGEMM_R_32F) return {0x1p-23, 0x1p-126};
  return type == BWGEMM_R_16F ? Rounding{0x1p-11, 0x1p-24} : Rounding{0x1p-8, 0x1p-126};
}

struct Product {
  double sum = 0, magnitude = 0;  // of the terms, and of their absolute values
};

// What an element should be, and how far it may be off before it is rounded to its type.
struct Expected {
  double value, error;
};

// Of elements of C, from those of the product. `leeway`: how far x may be off besides, as part of
// its terms.
class Formula {
 public:
  Formula(const BenchProblem& p, const HostProblem& host, double leeway)
      : p_(p), host_(host), leeway_(leeway) {}

  // Of row i of C; `product(row)` gives the product's. The error that the header allows:
  // accumulation and the product with alpha in units of 2^-23, and what follows.
  template <class Rows>
  Expected of(std::int64_t batch, std::int64_t i, std::int64_t j, const Rows& product) const {
    const BenchEpilogue& epilogue = p_.epilogue;
    const bool is_interleaved = epilogue.gate == BWGEMM_GATE_INTERLEAVED;
    const std::int64_t row = is_interleaved ? 2 * i : i;
    const Expected x = linear(batch, row, j, product(row));
    if (epilogue.is_linear()) return x;
    if (epilogue.derivative) {
      const double slope = activated(epilogue.activation, host_.aux(batch, i, j)).slope;
      return {x.value * slope, x.error * std::fabs(slope) + std::fabs(x.value) * curve_error};
    }
    constexpr double steepest = 1.13;
    const double y = activated(epilogue.activation, x.value).value;
    const double error = steepest * x.error + std::fabs(y) * curve_error + curve_floor;
    if (epilogue.gate == BWGEMM_GATE_NONE) return {y, error};
    const std::int64_t other = is_interleaved ? row + 1 : row + p_.m / 2;
    const Expected by = linear(batch, other, j, product(other));
    return {y * by.value, std::fabs(y) * by.error + (std::fabs(by.value) + by.error) * error +
                              std::fabs(y * by.value) * ulp};
  }

  // What is wrong with an element; "" if nothing.
  std::string judged(std::int64_t batch, std::int64_t i, std::int64_t j,
                     const Expected& expected) const {
    const double got = host_.c(batch, i, j);
    const Rounding to = rounding(p_.c.type);
    const double allowed = expected.error + to.unit * std::fabs(expected.value) + to.floor;
    const bool overflows = std::fabs(expected.value) + allowed >= largest(p_.c.type);
    if (std::fabs(got - expected.value) <= allowed) return "";
    if (overflows && std::isinf(got) && std::signbit(got) == std::signbit(expected.value))
      return "";
    return "C[" + std::to_string(i) + " " + std::to_string(j) + "] of batch " +
           std::to_string(batch) + " is " + std::to_string(got) + " not " +
           std::to_string(expected.value);
  }

 private:
  // Tails of activations that are less than the floor may be zero.
  static constexpr double ulp = 0x1p-23, curve_error = 0x1p-15, curve_floor = 0x1p-120;

  static double largest(bwgemmDataType_t type) { return type == BWGEMM_R_16F ? 65504 : 0x1.fep127; }

  Expected linear(std::int64_t batch, std::int64_t i, std::int64_t j,
                  const Product& product) const {
    const double alpha = std::fabs(static_cast<double>(p_.alpha));
    const double c = host_.beta_c(batch, i, j), bias = host_.bias(batch, i);
    const double terms = std::fabs(p_.alpha * product.sum) + std::fabs(c) + std::fabs(bias);
    const double added = p_.epilogue.any() ? 2 * ulp * terms : 0;
    return {p_.alpha * product.sum + c + bias,
            (static_cast<double>(p_.k) + 17) * ulp * alpha * product.magnitude + added +
                leeway_ * terms};
  }

  const BenchProblem& p_;
  const HostProblem& host_;
  const double leeway_;
};

std::string first_text(const std::vector<std::string>& texts) {
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [](const std::string& text) { return !text.empty(); });
  return found == texts.end() ? "ok" : *found;
}

std::string check_column(const BenchProblem& p, const HostProblem& host, const Formula& formula,
                         std::int64_t column) {
  const std::int64_t batch = column / p.n, j = column % p.n;
  std::vector<Product> products(static_cast<std::size_t>(p.m));
  for (std::int64_t l = 0; l < p.k; ++l) {
    const double factor = host.b(batch, l, j);
    for (std::int64_t i = 0; i < p.m; ++i) {
      const double product = host.a(batch, i, l) * factor;
      products[static_cast<std::size_t>(i)].sum += product;
      products[static_cast<std::size_t>(i)].magnitude += std::fabs(product);
    }
  }
  const auto product = [&](std::int64_t i) { return products[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < p.c.rows; ++i)
    if (std::string text = formula.judged(batch, i, j, formula.of(batch, i, j, product));
        !text.empty())
      return text;
  return {};
}

// One element of each square patch of C, which are as large as makes that cheap: a wrong tile
// anywhere covers many.
std::string check_patches(const BenchProblem& p, const HostProblem& host, const Formula& formula) {
  const auto across = [](std::int64_t extent, std::int64_t side) {
    return (extent + side - 1) / side;
  };
  std::int64_t side = 16;
  for (constexpr double most = 4e8; side < 4096; side *= 2) {
    const std::int64_t patches = across(p.c.rows, side) * across(p.n, side) * p.batch;
    if (static_cast<double>(patches) * static_cast<double>(p.k) <= most) break;
  }
  const std::int64_t down = across(p.c.rows, side), right = across(p.n, side);
  std::vector<std::string> wrong(static_cast<std::size_t>(down * right * p.batch));
  in_parallel(down * right * p.batch, [&](std::int64_t patch) {
    const std::int64_t batch = patch / (down * right);
    const std::uint64_t dice = static_cast<std::uint64_t>(patch + 1) * 0x9e3779b97f4a7c15u;
    const auto within = [&](std::int64_t number, std::int64_t extent, std::uint64_t bits) {
      const std::int64_t begin = number * side, length = std::min(side, extent - begin);
      return begin + static_cast<std::int64_t>(bits & 4095) % length;
    };
    const std::int64_t i = within(patch % down, p.c.rows, dice >> 52);
    const std::int64_t j = within(patch / down % right, p.n, dice >> 40);
    const auto product = [&](std::int64_t row) {
      Product sums;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const double term = host.a(batch, row, l) * host.b(batch, l, j);
        sums.sum += term;
        sums.magnitude += std::fabs(term);
      }
      return sums;
    };
    wrong[static_cast<std::size_t>(patch)] =
        formula.judged(batch, i, j, formula.of(batch, i, j, product));
  });
  const std::string text = first_text(wrong);
  return text == "ok" ? std::string() : text;
}

// C x against A (B x) for signs x: a wrong tile anywhere moves its rows far outside the spread that
// rounding, independent from element to element, can cause.
std::string check_signs(const BenchProblem& p, const HostProblem& host, double leeway,
                        std::int64_t batch) {
  const auto sign = [](std::int64_t j) {
    return (static_cast<std::uint64_t>(j) * 0x9e3779b97f4a7c15u >> 63) != 0 ? 1.0 : -1.0;
  };
  // Tensor cores truncate at every step of 16: the errors of a row all point to zero, and grow with
  // k.
  const double truncation = std::max(0x1p-20, static_cast<double>(p.k) * 0x1p-27);
  const double unit = std::max({rounding(p.c.type).unit, truncation, leeway}),
               floor = rounding(p.c.type).floor;
  std::vector<double> product(static_cast<std::size_t>(p.k));
  in_parallel(p.k, [&](std::int64_t l) {
    double sum = 0;
    for (std::int64_t j = 0; j < p.n; ++j) sum += host.b(batch, l, j) * sign(j);
    product[static_cast<std::size_t>(l)] = sum;
  });
  std::vector<std::string> wrong(static_cast<std::size_t>(p.m));
  in_parallel(p.m, [&](std::int64_t i) {
    double exact = 0, squares = 0, got = 0, c_squares = 0;
    for (std::int64_t l = 0; l < p.k; ++l) {
      exact += host.a(batch, i, l) * product[static_cast<std::size_t>(l)];
      squares += host.a(batch, i, l) * host.a(batch, i, l);
    }
    exact *= p.alpha;
    for (std::int64_t j = 0; j < p.n; ++j) {
      const double element = host.c(batch, i, j);
      exact += (host.beta_c(batch, i, j) + host.bias(batch, i)) * sign(j);
      got += element * sign(j);
      c_squares += element * element;
    }
    const double columns = static_cast<double>(p.n);
    const double spread = unit * std::sqrt(c_squares) + floor * std::sqrt(columns) +
                          truncation * std::fabs(p.alpha) * std::sqrt(squares * columns);
    if (!(std::fabs(got - exact) <= 8 * spread))
      wrong[static_cast<std::size_t>(i)] = "sign check: row " + std::to_string(i) + " of batch " +
                                           std::to_string(batch) + " gives " + std::to_string(got) +
                                           " not " + std::to_string(exact);
  });
  const std::string text = first_text(wrong);
  return text == "ok" ? std::string() : text;
}

}  // namespace

float widen(std::uint16_t bits, bwgemmDataType_t type) {
  if (type == BWGEMM_R_16BF) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const int exponent = (bits >> 10) & 31;
  const std::uint32_t fraction = bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

std::string verify(const BenchProblem& p, const Pointers& at, const CBefore& c_before,
                   Precision precision) {
  const HostProblem host(p, at, c_before);
  const double leeway = precision == Precision::of_bwgemm ? 0 : 2 * rounding(p.a.type).unit;
  const Formula formula(p, host, leeway);
  const std::int64_t columns = p.n * p.batch;
  const double work = std::max(1.0, static_cast<double>(p.m) * static_cast<double>(p.k));
  const auto cheap = static_cast<std::int64_t>(4e8 / work);
  const auto samples = std::min(columns, std::max<std::int64_t>(cheap, 4));
  std::vector<std::string> wrong(static_cast<std::size_t>(samples));
  in_parallel(samples, [&](std::int64_t sample) {
    const std::int64_t column = (sample * 2 + 1) * columns / (2 * samples);
    wrong[static_cast<std::size_t>(sample)] = check_column(p, host, formula, column);
  });
  if (samples < columns && p.epilogue.is_linear())
    for (std::int64_t batch = 0; batch < p.batch; ++batch)
      wrong.push_back(check_signs(p, host, leeway, batch));
  else if (samples < columns)
    wrong.push_back(check_patches(p, host, formula));
  return first_text(wrong);
}

}  // namespace bwgemm::bench
