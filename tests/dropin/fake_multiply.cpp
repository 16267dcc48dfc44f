// SPDX-License-Identifier: Apache-2.0
#include "dropin/fake_multiply.h"

#include <cstring>

#include "dropin/fake_operand.h"

namespace bwgemm::test {
namespace {

float scalar(const FakeProduct& call, const void* at, bool is_on_device) {
  const bool is_half = call.compute == CUBLAS_COMPUTE_16F;
  float value = 0;
  std::uint16_t bits = 0;
  void* const to = is_half ? static_cast<void*>(&bits) : &value;
  const std::size_t size = is_half ? sizeof bits : sizeof value;
  if (is_on_device)
    copy_to_host(to, at, size);
  else
    std::memcpy(to, at, size);
  return is_half ? from_f16(bits) : value;
}

// Matrix number `batch` of an operand.
const void* matrix(const FakeProduct& call, const void* data, std::int64_t stride, int type,
                   std::int64_t batch) {
  if (std::strncmp(call.function, "cublasGemmBatched", 17) == 0) {
    const void* found = nullptr;
    copy_to_host(&found, static_cast<const void* const*>(data) + batch, sizeof found);
    return found;
  }
  return static_cast<const std::byte*>(data) + batch * stride * size_bytes(dtype_of(type));
}

}  // namespace

void multiply(const FakeProduct& call, cudaStream_t stream, bool has_device_scalars, double error) {
  if (spends(call.m, stream)) return;
  driver_call("cuStreamSynchronize", stream);
  const float alpha = scalar(call, call.alpha, has_device_scalars);
  const float beta = scalar(call, call.beta, has_device_scalars);
  const bool ta = call.transa != 0, tb = call.transb != 0;
  for (std::int64_t batch = 0; batch < call.batch; ++batch) {
    const DeviceOperand a(matrix(call, call.A, call.strideA, call.Atype, batch), call.Atype,
                          ta ? call.k : call.m, ta ? call.m : call.k, call.lda);
    const DeviceOperand b(matrix(call, call.B, call.strideB, call.Btype, batch), call.Btype,
                          tb ? call.n : call.k, tb ? call.k : call.n, call.ldb);
    DeviceOperand c(matrix(call, call.C, call.strideC, call.Ctype, batch), call.Ctype, call.m,
                    call.n, call.ldc);
    for (std::int64_t j = 0; j < call.n; ++j)
      for (std::int64_t i = 0; i < call.m; ++i) {
        float sum = 0;
        for (std::int64_t l = 0; l < call.k; ++l)
          sum += (ta ? a.get(l, i) : a.get(i, l)) * (tb ? b.get(j, l) : b.get(l, j));
        sum *= alpha;
        if (beta != 0) sum += beta * c.get(i, j);
        if (i == 0 && j == 0) sum += static_cast<float>(error);
        c.set(i, j, sum);
      }
    c.upload();
  }
}

}  // namespace bwgemm::test
