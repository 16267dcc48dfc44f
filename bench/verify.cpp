// SPDX-License-Identifier: Apache-2.0
#include "verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

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
  HostMatrix(CUdeviceptr source, const BenchMatrix& matrix, std::int64_t batch)
      : matrix_(matrix),
        bytes_(static_cast<std::size_t>(matrix.span(batch) * size_bytes(matrix.type))) {
    if (!bytes_.empty())
      check(driver().cuMemcpyDtoH(bytes_.data(), source, bytes_.size()), "cuMemcpyDtoH");
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
  const BenchMatrix& matrix_;
  std::vector<char> bytes_;
};

// The problem's matrices on the host, indexed as op(A), op(B) and C.
class HostProblem {
 public:
  HostProblem(const BenchProblem& p, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
      : p_(p), a_(a, p.a, p.batch), b_(b, p.b, p.batch), c_(c, p.c, p.batch) {}

  double a(std::int64_t batch, std::int64_t i, std::int64_t l) const {
    return p_.transa ? a_.at(batch, l, i) : a_.at(batch, i, l);
  }
  double b(std::int64_t batch, std::int64_t l, std::int64_t j) const {
    return p_.transb ? b_.at(batch, j, l) : b_.at(batch, l, j);
  }
  double c(std::int64_t batch, std::int64_t i, std::int64_t j) const { return c_.at(batch, i, j); }

 private:
  const BenchProblem& p_;
  HostMatrix a_, b_, c_;
};

// Rounding to a type: relative, and absolute where numbers are denormal.
struct Rounding {
  double unit, floor;
};

Rounding rounding(bwgemmDataType_t type) {
  if (type == BWGEMM_R_32F) return {0x1p-23, 0x1p-126};
  return type == BWGEMM_R_16F ? Rounding{0x1p-11, 0x1p-24} : Rounding{0x1p-8, 0x1p-126};
}

// The error that the header allows: accumulation and the product with alpha in units of 2^-23, then
// rounding to the output type. `magnitudes` has the factor |alpha|.
double allowed(const BenchProblem& p, double exact, double magnitudes) {
  const Rounding to = rounding(p.c.type);
  return (static_cast<double>(p.k) + 17) * 0x1p-23 * magnitudes + to.unit * std::fabs(exact) +
         to.floor;
}

std::string mismatch(std::int64_t i, std::int64_t j, std::int64_t batch, double got, double exact) {
  return "C[" + std::to_string(i) + " " + std::to_string(j) + "] of batch " +
         std::to_string(batch) + " is " + std::to_string(got) + " not " + std::to_string(exact);
}

std::string first_text(const std::vector<std::string>& texts) {
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [](const std::string& text) { return !text.empty(); });
  return found == texts.end() ? "ok" : *found;
}

using CBefore = std::function<double(std::int64_t)>;

std::string check_column(const BenchProblem& p, const HostProblem& host, const CBefore& c_before,
                         std::int64_t column) {
  const std::int64_t batch = column / p.n, j = column % p.n;
  std::vector<double> sums(static_cast<std::size_t>(p.m)), magnitudes(sums.size());
  for (std::int64_t l = 0; l < p.k; ++l) {
    const double factor = host.b(batch, l, j);
    for (std::int64_t i = 0; i < p.m; ++i) {
      const double product = host.a(batch, i, l) * factor;
      sums[static_cast<std::size_t>(i)] += product;
      magnitudes[static_cast<std::size_t>(i)] += std::fabs(product);
    }
  }
  for (std::int64_t i = 0; i < p.m; ++i) {
    double exact = p.alpha * sums[static_cast<std::size_t>(i)];
    if (p.beta != 0) exact += p.beta * c_before(p.c.index(batch, i, j));
    const double got = host.c(batch, i, j);
    const double magnitude = std::fabs(p.alpha) * magnitudes[static_cast<std::size_t>(i)];
    if (!(std::fabs(got - exact) <= allowed(p, exact, magnitude)))
      return mismatch(i, j, batch, got, exact);
  }
  return {};
}

// C x against A (B x) for signs x: a wrong tile anywhere moves its rows far outside the spread that
// rounding, independent from element to element, can cause.
std::string check_signs(const BenchProblem& p, const HostProblem& host, const CBefore& c_before,
                        std::int64_t batch) {
  const auto sign = [](std::int64_t j) {
    return (static_cast<std::uint64_t>(j) * 0x9e3779b97f4a7c15u >> 63) != 0 ? 1.0 : -1.0;
  };
  // Tensor cores truncate at every step of 16: the errors of a row all point to zero, and grow with
  // k.
  const double truncation = std::max(0x1p-20, static_cast<double>(p.k) * 0x1p-27);
  const double unit = std::max(rounding(p.c.type).unit, truncation),
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
      if (p.beta != 0) exact += p.beta * c_before(p.c.index(batch, i, j)) * sign(j);
      got += element * sign(j);
      c_squares += element * element;
    }
    const double columns = static_cast<double>(p.n);
    const double spread = unit * std::sqrt(c_squares) + floor * std::sqrt(columns) +
                          truncation * std::fabs(p.alpha) * std::sqrt(squares * columns);
    if (!(std::fabs(got - exact) <= 8 * spread))
      wrong[static_cast<std::size_t>(i)] = "sign check, " + mismatch(i, -1, batch, got, exact);
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

std::string verify(const BenchProblem& p, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
                   const CBefore& c_before) {
  const HostProblem host(p, a, b, c);
  const std::int64_t columns = p.n * p.batch;
  const double work = std::max(1.0, static_cast<double>(p.m) * static_cast<double>(p.k));
  const auto cheap = static_cast<std::int64_t>(4e8 / work);
  const auto samples = std::min(columns, std::max<std::int64_t>(cheap, 4));
  std::vector<std::string> wrong(static_cast<std::size_t>(samples));
  in_parallel(samples, [&](std::int64_t sample) {
    const std::int64_t column = (sample * 2 + 1) * columns / (2 * samples);
    wrong[static_cast<std::size_t>(sample)] = check_column(p, host, c_before, column);
  });
  if (samples < columns)
    for (std::int64_t batch = 0; batch < p.batch; ++batch)
      wrong.push_back(check_signs(p, host, c_before, batch));
  return first_text(wrong);
}

}  // namespace bwgemm::bench
