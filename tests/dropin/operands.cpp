// SPDX-License-Identifier: Apache-2.0
#include "dropin/operands.h"

#include "support/driver.h"

namespace bwgemm::test {
namespace {

Dtype dtype(cudaDataType type) {
  return type == CUDA_R_32F ? Dtype::f32 : type == CUDA_R_16F ? Dtype::f16 : Dtype::bf16;
}

// -3 .. 3, of another sequence for each seed.
void fill(Matrix& matrix, unsigned seed) {
  for (std::int64_t batch = 0; batch < matrix.batch(); ++batch)
    for (std::int64_t column = 0; column < matrix.columns(); ++column)
      for (std::int64_t row = 0; row < matrix.rows(); ++row) {
        seed = seed * 1664525 + 1013904223;
        matrix.set(row, column, static_cast<float>(seed >> 16 & 0xff) / 43 - 3, batch);
        matrix.set(row, column, std::round(matrix.get(row, column, batch)), batch);
      }
}

// The addresses of the matrices of a batch.
std::vector<void*> addresses(const GuardedBuffer& buffer, const Matrix& matrix) {
  std::vector<void*> found;
  for (std::int64_t batch = 0; batch < matrix.batch(); ++batch)
    found.push_back(static_cast<std::byte*>(buffer.pointer()) +
                    batch * matrix.stride() * size_bytes(matrix.type()));
  return found;
}

}  // namespace

Operands::Operands(CublasCall& call, const std::string& function)
    : call_(call), batch_(CublasCall::is_batched(function) ? call.batch : 1) {
  const bool ta = call.transa != CUBLAS_OP_N, tb = call.transb != CUBLAS_OP_N;
  a_ = Matrix(dtype(call.a_type), ta ? call.k : call.m, ta ? call.m : call.k, call.lda, batch_,
              call.stride_a);
  b_ = Matrix(dtype(call.b_type), tb ? call.n : call.k, tb ? call.k : call.n, call.ldb, batch_,
              call.stride_b);
  before_ = Matrix(dtype(call.c_type), call.m, call.n, call.ldc, batch_, call.stride_c);
  fill(a_, 1);
  fill(b_, 2);
  fill(before_, 3);
  device_a_ = std::make_unique<GuardedBuffer>(a_);
  device_b_ = std::make_unique<GuardedBuffer>(b_);
  c_ = std::make_unique<GuardedBuffer>(before_);
  call.a = device_a_->pointer();
  call.b = device_b_->pointer();
  call.c = c_->pointer();
  if (function.find("GemmBatched") == function.npos) return;
  std::vector<void*> all = addresses(*device_a_, a_);
  for (const auto& [buffer, matrix] :
       {std::pair(device_b_.get(), &b_), std::pair(c_.get(), &before_)})
    for (void* const address : addresses(*buffer, *matrix)) all.push_back(address);
  pointers_ = std::make_unique<DeviceMemory>(all.size() * sizeof all[0]);
  check(driver().memcpy_htod(pointers_->address(), all.data(), all.size() * sizeof all[0]),
        "cuMemcpyHtoD");
  call.a = pointers_->as<void*>();
  call.b = pointers_->as<void*>() + batch_;
  call.c = pointers_->as<void*>() + 2 * batch_;
}

std::string Operands::difference(float alpha, float beta, float added) {
  const Matrix& seen = c_->download();
  const bool ta = call_.transa != CUBLAS_OP_N, tb = call_.transb != CUBLAS_OP_N;
  for (std::int64_t batch = 0; batch < batch_; ++batch)
    for (std::int64_t j = 0; j < call_.n; ++j)
      for (std::int64_t i = 0; i < call_.m; ++i) {
        float sum = 0;
        for (std::int64_t l = 0; l < call_.k; ++l)
          sum += (ta ? a_.get(l, i, batch) : a_.get(i, l, batch)) *
                 (tb ? b_.get(j, l, batch) : b_.get(l, j, batch));
        Matrix rounded(before_.type(), 1, 1, 1);
        const float c = beta != 0 ? beta * before_.get(i, j, batch) : 0;
        rounded.set(0, 0, alpha * sum + c + (i == 0 && j == 0 ? added : 0));
        if (rounded.get(0, 0) != seen.get(i, j, batch))
          return "C(" + std::to_string(i) + "," + std::to_string(j) + ") of batch " +
                 std::to_string(batch) + " is " + std::to_string(seen.get(i, j, batch)) +
                 ", expected " + std::to_string(rounded.get(0, 0));
      }
  return c_->damage();
}

}  // namespace bwgemm::test
