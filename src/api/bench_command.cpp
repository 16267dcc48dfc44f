// SPDX-License-Identifier: Apache-2.0
#include "api/bench_command.h"

#include <algorithm>

#include "core/epilogue_text.h"
#include "core/text.h"

namespace bwgemm {
namespace {

// Without the product of ld and columns, which may be too large where nothing is read.
bool is_packed(const Matrix& matrix, std::int64_t columns) {
  const std::int64_t stride = matrix.batch_stride;
  return columns == 0 ? stride == 0 : stride % columns == 0 && stride / columns == matrix.ld;
}

// What is unusual about a stored matrix of rows x columns.
std::string oddities(char letter, const Matrix& matrix, std::int64_t rows, std::int64_t columns,
                     std::int64_t batch) {
  std::string odd;
  const std::string_view name(&letter, 1);
  if (matrix.ld != std::max<std::int64_t>(1, rows)) odd += text(",ld", name, "=", matrix.ld);
  if (batch > 1 && !is_packed(matrix, columns))
    odd += text(",stride", name, "=", matrix.batch_stride);
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.data);
  if (address % 16 != 0) odd += text(",align", name, "=", address & (~address + 1));
  return odd;
}

}  // namespace

std::string bench_command(const Problem& problem) {
  // The column-major view: D^T = B^T A^T, so the caller's A is our B with its order flipped, and a
  // row-order matrix of the caller is one to be transposed.
  const Matrix &a = problem.b, &b = problem.a, &c = problem.d;
  const std::int64_t m = problem.n, n = problem.m, k = problem.k, batch = problem.batch;
  const bool transa = a.order == Order::column, transb = b.order == Order::column;

  std::string command = text("bwgemm_bench --colmajor --problem \"m=", m, ",n=", n, ",k=", k);
  command += text(",transa=", transa ? "T" : "N", ",transb=", transb ? "T" : "N");
  command += text(",dtype=", name(a.type), ",out=", name(c.type), ",batch=", batch);
  if (problem.alpha.device != nullptr || problem.beta.device != nullptr) {
    command += ",scalars=device";
  } else {
    command += text(",beta=", problem.beta.value);
    if (problem.alpha.value != 1) command += text(",alpha=", problem.alpha.value);
  }
  const std::int64_t strided = problem.is_pointer_array ? 1 : batch;
  command += transa ? oddities('a', a, k, m, strided) : oddities('a', a, m, k, strided);
  command += transb ? oddities('b', b, n, k, strided) : oddities('b', b, k, n, strided);
  if (problem.epilogue.gate == Gate::none) command += oddities('c', c, m, n, strided);
  command += "\"";
  // In row order, as the report of bwgemmMatmulExplain; not for bwgemm_bench, but a comment.
  if (const std::string more = epilogue_text(problem); !more.empty())
    command += text("  # with ", more);
  return command;
}

}  // namespace bwgemm
