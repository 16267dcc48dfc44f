// SPDX-License-Identifier: Apache-2.0
// In the buffer: D, or its matrices and the array of their addresses; then aux. Modulo 256 bytes, D
// and aux lie like the caller's, and matrices of an array at 0.
#include "api/scratch_outputs.h"

#include <algorithm>

namespace bwgemm {
namespace {

constexpr std::int64_t allocation_alignment = 256;
constexpr std::int64_t too_much = std::int64_t{1} << 60;

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + allocation_alignment - 1) / allocation_alignment * allocation_alignment;
}

std::int64_t displacement(const Matrix& matrix) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(matrix.data) %
                                   allocation_alignment);
}

std::int64_t product(std::int64_t one, std::int64_t other) {
  return one > too_much / std::max<std::int64_t>(other, 1) ? too_much : one * other;
}

// From the first element to behind the last. D with a gate is narrower.
std::int64_t bytes_of(const Matrix& matrix, const Problem& problem, std::int64_t batch) {
  const std::int64_t elements =
      product(batch - 1, matrix.batch_stride) + product(problem.m - 1, matrix.ld) + problem.n;
  return rounded(product(std::min(elements, too_much), size_bytes(matrix.type)));
}

struct Places {
  std::int64_t d_matrix, pointers, aux, end;
};

Places places(const Problem& problem) {
  const Epilogue& epilogue = problem.epilogue;
  const bool stores_aux = epilogue.aux.data != nullptr && !epilogue.differentiates;
  Places at{};
  at.d_matrix = bytes_of(problem.d, problem, problem.is_pointer_array ? 1 : problem.batch);
  at.pointers = problem.is_pointer_array ? product(at.d_matrix, problem.batch)
                                         : at.d_matrix + allocation_alignment;
  at.aux = at.pointers + (problem.is_pointer_array ? rounded(product(8, problem.batch)) : 0);
  at.end = at.aux;
  if (stores_aux) at.end += bytes_of(epilogue.aux, problem, problem.batch) + allocation_alignment;
  return at;
}

}  // namespace

Problem without_sums(Problem problem) {
  problem.bias_gradient = {};
  return problem;
}

std::size_t ScratchOutputs::bytes_of(const Problem& problem) {
  return static_cast<std::size_t>(places(problem).end);
}

ScratchOutputs::ScratchOutputs(const Driver& driver, CUstream stream, const Problem& problem)
    : problem_(without_sums(problem)), buffer_(driver, stream, bytes_of(problem)) {
  const Places at = places(problem);
  const auto address = [&](std::int64_t place) {
    return reinterpret_cast<const void*>(buffer_.memory() + static_cast<CUdeviceptr>(place));
  };
  const bool is_c_read = problem.reads_c();
  const bool is_c_d = !is_c_read || problem.c.data == problem.d.data;
  // What is added to itself is defined; anything else is written before it is read.
  if (is_c_read && is_c_d)
    driver.call(driver.cuMemsetD32Async, buffer_.memory(), 0U,
                buffer_.bytes() / sizeof(std::uint32_t), stream);
  problem_.d.data = address(problem.is_pointer_array ? at.pointers : displacement(problem.d));
  if (is_c_d) problem_.c.data = problem_.d.data;
  if (at.end > at.aux)
    problem_.epilogue.aux.data = address(at.aux + displacement(problem.epilogue.aux));
  if (!problem.is_pointer_array) return;
  for (std::int64_t i = 0; i < problem.batch; ++i)
    pointers_.push_back(buffer_.memory() + static_cast<CUdeviceptr>(i * at.d_matrix));
  driver.call(driver.cuMemcpyHtoDAsync, buffer_.memory() + static_cast<CUdeviceptr>(at.pointers),
              static_cast<const void*>(pointers_.data()), 8 * pointers_.size(), stream);
}

}  // namespace bwgemm
