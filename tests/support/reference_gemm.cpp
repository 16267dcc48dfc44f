// SPDX-License-Identifier: Apache-2.0
#include "support/reference_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>
#include <type_traits>

namespace bwgemm::test {
namespace {

constexpr double full_check_limit = 1e9;
constexpr double few_products = 1e8;  // not worth other threads

std::vector<std::int64_t> all(std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// `count` indices of 0 .. size-1, both ends among them.
std::vector<std::int64_t> some(std::int64_t size, std::int64_t count) {
  if (size <= count) return all(size);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * (size - 1) / (count - 1));
  return indices;
}

// Runs body(i) for i in 0 .. count-1, on all processors if there is much to do.
template <class Body>
void in_parallel(std::size_t count, double products, const Body& body) {
  const unsigned processors =
      products < few_products ? 1u : std::max(1u, std::thread::hardware_concurrency());
  const std::size_t workers = std::min<std::size_t>(count, processors);
  std::vector<std::thread> threads;
  for (std::size_t worker = 1; worker < workers; ++worker)
    threads.emplace_back([&body, worker, workers, count] {
      for (std::size_t i = worker; i < count; i += workers) body(i);
    });
  for (std::size_t i = 0; i < count; i += workers) body(i);
  for (std::thread& thread : threads) thread.join();
}

// A block of the product is so many rows, and as many columns as two vectors hold.
constexpr std::size_t block_rows = 4, vector_bytes = 64;
template <class T>
constexpr std::size_t block_columns = 2 * vector_bytes / sizeof(T);

// Sums of a*b and of |a||b| over k, of one block: a is [k][row], b is [k][column], the results are
// [row][column]. Each has its sums in registers.
template <class T>
[[gnu::always_inline]] inline void sum_block(const T* a, const T* b, std::size_t k,
                                             T* __restrict__ sum, T* __restrict__ magnitude) {
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  typedef Bits BitVector __attribute__((vector_size(vector_bytes)));
  constexpr Bits all_but_sign = ~Bits{0} >> 1;
  Vector sums[block_rows][2] = {}, sizes[block_rows][2] = {};
  for (std::size_t p = 0; p < k; ++p, a += block_rows, b += block_columns<T>)
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
      Vector of_b;
      std::memcpy(&of_b, b + half * vector_bytes / sizeof(T), vector_bytes);
      const auto size = reinterpret_cast<Vector>(reinterpret_cast<BitVector>(of_b) & all_but_sign);
#pragma GCC unroll 4
      for (std::size_t row = 0; row < block_rows; ++row) {
        sums[row][half] += a[row] * of_b;
        sizes[row][half] += std::fabs(a[row]) * size;
      }
    }
  std::memcpy(sum, sums, sizeof sums);
  std::memcpy(magnitude, sizes, sizeof sizes);
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void sum_block_of(
    const float* a, const float* b, std::size_t k, float* sum, float* magnitude) {
  sum_block(a, b, k, sum, magnitude);
}
__attribute__((target_clones("avx512f", "avx2", "default"))) void sum_block_of(
    const double* a, const double* b, std::size_t k, double* sum, double* magnitude) {
  sum_block(a, b, k, sum, magnitude);
}

// `lines` x k values in blocks of some lines: [block][k][line].
template <class T, class Get>
std::vector<T> in_blocks(std::size_t lines, std::size_t k, std::size_t block, const Get& get) {
  std::vector<T> values((lines + block - 1) / block * block * k);
  for (std::size_t line = 0; line < lines; ++line) {
    T* const to = &values[line / block * block * k + line % block];
    for (std::size_t p = 0; p < k; ++p) to[p * block] = static_cast<T>(get(line, p));
  }
  return values;
}

template <class T>
void multiply(const std::vector<float>& a, const std::vector<float>& b, std::size_t k,
              Product& result) {
  const std::size_t m = result.rows.size(), n = result.columns.size();
  constexpr std::size_t width = block_columns<T>;
  const auto of_rows = in_blocks<T>(
      m, k, block_rows, [&](std::size_t line, std::size_t p) { return a[line * k + p]; });
  const auto of_columns =
      in_blocks<T>(n, k, width, [&](std::size_t line, std::size_t p) { return b[line * k + p]; });
  const double products = static_cast<double>(m * n) * static_cast<double>(k);
  in_parallel((n + width - 1) / width, products, [&](std::size_t column_block) {
    T sum[block_rows * width], magnitude[block_rows * width];
    const std::size_t first = column_block * width, count = std::min(width, n - first);
    for (std::size_t row = 0; row < m; ++row) {
      if (row % block_rows == 0)
        sum_block_of(&of_rows[row * k], &of_columns[first * k], k, sum, magnitude);
      const T *const of_row = sum + row % block_rows * width, *const size_of_row =
                                                                  magnitude +
                                                                  row % block_rows * width;
      std::copy_n(of_row, count, &result.sum[result.index(row, first)]);
      std::copy_n(size_of_row, count, &result.magnitude[result.index(row, first)]);
    }
  });
}

// Of the values, if all are integers; infinity else.
double largest_integer(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) {
    if (!(std::fabs(value) < 0x1p24f) || value != static_cast<float>(static_cast<int>(value)))
      return INFINITY;
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

std::int64_t sign(std::uint64_t seed, std::int64_t index) {
  return sample(Fill::normal, seed, static_cast<std::uint64_t>(index)) < 0 ? -1 : 1;
}

}  // namespace

Product product(const Operand& a, const Operand& b, std::vector<std::int64_t> rows,
                std::vector<std::int64_t> columns) {
  Product result{std::move(rows), std::move(columns), {}, {}};
  const std::size_t m = result.rows.size(), n = result.columns.size();
  const auto k = static_cast<std::size_t>(a.columns());
  result.sum.assign(m * n, 0);
  result.magnitude.assign(m * n, 0);

  if (k == 0) return result;

  std::vector<float> a_values(m * k), b_values(n * k);  // [row][k] and [column][k]
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t p = 0; p < k; ++p)
      a_values[i * k + p] = a.get(result.rows[i], static_cast<std::int64_t>(p));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t p = 0; p < k; ++p)
      b_values[j * k + p] = b.get(static_cast<std::int64_t>(p), result.columns[j]);
  // No float sum of such integers is rounded.
  const double largest = largest_integer(a_values) * largest_integer(b_values);
  if (largest * static_cast<double>(k) <= 0x1p24)
    multiply<float>(a_values, b_values, k, result);
  else
    multiply<double>(a_values, b_values, k, result);
  return result;
}

Product whole_product(const Operand& a, const Operand& b) {
  return product(a, b, all(a.rows()), all(b.columns()));
}

Product product(const Operand& a, const Operand& b) {
  const double work = static_cast<double>(a.rows()) * static_cast<double>(b.columns()) *
                      static_cast<double>(a.columns());
  if (work <= full_check_limit) return whole_product(a, b);
  return product(a, b, some(a.rows(), 97), some(b.columns(), 97));
}

std::string freivalds(const Operand& a, const Operand& b, float alpha, float beta, const Matrix& c,
                      const Matrix& d, std::uint64_t seed) {
  const std::int64_t m = a.rows(), n = b.columns(), k = a.columns();
  std::vector<double> projected(static_cast<std::size_t>(k)), size(projected.size());
  in_parallel(projected.size(), static_cast<double>(n * k), [&](std::size_t p) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double value = b.get(static_cast<std::int64_t>(p), j);
      projected[p] += value * static_cast<double>(sign(seed, j));
      size[p] += std::fabs(value);
    }
  });
  const double unit = d.type() == Dtype::bf16 ? 0x1p-8 : d.type() == Dtype::f16 ? 0x1p-11 : 0x1p-24;
  const double smallest = d.type() == Dtype::f16 ? 0x1p-25 : 0x1p-134;  // half of a denormal step
  std::vector<std::string> failures(static_cast<std::size_t>(m));
  in_parallel(failures.size(), static_cast<double>(m * k), [&](std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    double expected = 0, magnitude = 0, actual = 0, bound = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const double value = a.get(row, p);
      expected += alpha * value * projected[static_cast<std::size_t>(p)];
      magnitude += std::fabs(alpha * value) * size[static_cast<std::size_t>(p)];
    }
    bound = magnitude * static_cast<double>(k + 16) * 0x1p-23;
    for (std::int64_t j = 0; j < n; ++j) {
      const double before = beta == 0 ? 0 : static_cast<double>(beta) * c.get(row, j);
      const double after = d.get(row, j);
      expected += before * static_cast<double>(sign(seed, j));
      actual += after * static_cast<double>(sign(seed, j));
      // Two roundings in float, then one to the type of D.
      bound += (std::fabs(after) + std::fabs(before)) * 0x1p-22 + std::fabs(after) * unit * 1.01 +
               smallest;
    }
    bound += magnitude * 0x1p-23;
    if (!(std::fabs(actual - expected) <= bound))
      failures[i] = "row " + std::to_string(row) + ": projection " + std::to_string(actual) +
                    " instead of " + std::to_string(expected) + " +- " + std::to_string(bound);
  });
  for (const std::string& failure : failures)
    if (!failure.empty()) return failure;
  return "";
}

}  // namespace bwgemm::test
