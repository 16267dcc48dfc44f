// SPDX-License-Identifier: Apache-2.0
#include "support/reference_gemm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

namespace bwgemm::test {
namespace {

constexpr double full_check_limit = 1e9;
constexpr std::size_t panel_k = 256, panel_columns = 512;  // of B: stays in the second-level cache

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

// Runs body(i) for i in 0 .. count-1 on all processors.
template <class Body>
void in_parallel(std::size_t count, const Body& body) {
  const std::size_t workers =
      std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (std::size_t worker = 1; worker < workers; ++worker)
    threads.emplace_back([&body, worker, workers, count] {
      for (std::size_t i = worker; i < count; i += workers) body(i);
    });
  for (std::size_t i = 0; i < count; i += workers) body(i);
  for (std::thread& thread : threads) thread.join();
}

// sum[j] += a * b[j] and magnitude[j] += |a| * |b[j]|: the inner loop over contiguous columns.
void accumulate(double a, const double* b, double* sum, double* magnitude, std::size_t columns) {
  const double size = std::fabs(a);
  for (std::size_t j = 0; j < columns; ++j) {
    sum[j] += a * b[j];
    magnitude[j] += size * std::fabs(b[j]);
  }
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

  std::vector<double> a_values(m * k), b_values(k * n);  // [row][k] and [k][column]
  in_parallel(m, [&](std::size_t i) {
    for (std::size_t p = 0; p < k; ++p)
      a_values[i * k + p] = a.get(result.rows[i], static_cast<std::int64_t>(p));
  });
  in_parallel(k, [&](std::size_t p) {
    for (std::size_t j = 0; j < n; ++j)
      b_values[p * n + j] = b.get(static_cast<std::int64_t>(p), result.columns[j]);
  });

  constexpr std::size_t row_block = 16;
  in_parallel((m + row_block - 1) / row_block, [&](std::size_t block) {
    const std::size_t last_row = std::min(m, (block + 1) * row_block);
    for (std::size_t first_k = 0; first_k < k; first_k += panel_k)
      for (std::size_t first = 0; first < n; first += panel_columns)
        for (std::size_t i = block * row_block; i < last_row; ++i)
          for (std::size_t p = first_k; p < std::min(k, first_k + panel_k); ++p)
            accumulate(a_values[i * k + p], &b_values[p * n + first], &result.sum[i * n + first],
                       &result.magnitude[i * n + first], std::min(panel_columns, n - first));
  });
  return result;
}

Product product(const Operand& a, const Operand& b) {
  const double work = static_cast<double>(a.rows()) * static_cast<double>(b.columns()) *
                      static_cast<double>(a.columns());
  if (work <= full_check_limit) return product(a, b, all(a.rows()), all(b.columns()));
  return product(a, b, some(a.rows(), 97), some(b.columns(), 97));
}

std::string freivalds(const Operand& a, const Operand& b, float alpha, float beta, const Matrix& c,
                      const Matrix& d, std::uint64_t seed) {
  const std::int64_t m = a.rows(), n = b.columns(), k = a.columns();
  std::vector<double> projected(static_cast<std::size_t>(k)), size(projected.size());
  in_parallel(projected.size(), [&](std::size_t p) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double value = b.get(static_cast<std::int64_t>(p), j);
      projected[p] += value * static_cast<double>(sign(seed, j));
      size[p] += std::fabs(value);
    }
  });
  const double unit = d.type() == Dtype::bf16 ? 0x1p-8 : d.type() == Dtype::f16 ? 0x1p-11 : 0x1p-24;
  const double smallest = d.type() == Dtype::f16 ? 0x1p-25 : 0x1p-134;  // half of a denormal step
  std::vector<std::string> failures(static_cast<std::size_t>(m));
  in_parallel(failures.size(), [&](std::size_t i) {
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
