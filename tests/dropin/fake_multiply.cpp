// SPDX-License-Identifier: Apache-2.0
#include "dropin/fake_multiply.h"

#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <vector>

#include "support/element.h"

namespace bwgemm::test {
namespace {

// Calls a function of the driver that tests and library use. The device must compute.
template <class... Arguments>
void driver(const char* name, Arguments... arguments) {
  const char* const named = std::getenv("BWGEMM_LIBCUDA");
  static void* const library = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr || reinterpret_cast<CUresult (*)(Arguments...)>(found)(arguments...) != 0)
    std::abort();
}

Dtype dtype(int type) {
  return type == CUDA_R_32F ? Dtype::f32 : type == CUDA_R_16F ? Dtype::f16 : Dtype::bf16;
}

void download(void* to, const void* from, std::size_t bytes) {
  driver("cuMemcpyDtoH_v2", to, reinterpret_cast<CUdeviceptr>(from), bytes);
}

// A column-major matrix in device memory, copied to the host as far as it reaches.
class Operand {
 public:
  Operand(const void* at, int type, std::int64_t rows, std::int64_t columns, std::int64_t ld)
      : at_(at), type_(dtype(type)), ld_(ld) {
    if (rows == 0 || columns == 0) return;
    bytes_.resize(static_cast<std::size_t>(((columns - 1) * ld + rows) * size_bytes(type_)));
    download(bytes_.data(), at, bytes_.size());
  }

  float get(std::int64_t row, std::int64_t column) const {
    return load(bytes_.data() + (column * ld_ + row) * size_bytes(type_), type_);
  }
  void set(std::int64_t row, std::int64_t column, float value) {
    store(bytes_.data() + (column * ld_ + row) * size_bytes(type_), type_, value);
  }
  void upload() const {
    driver("cuMemcpyHtoD_v2", reinterpret_cast<CUdeviceptr>(at_),
           static_cast<const void*>(bytes_.data()), bytes_.size());
  }

 private:
  const void* at_;
  Dtype type_;
  std::int64_t ld_;
  std::vector<std::byte> bytes_;
};

float scalar(const FakeProduct& call, const void* at, bool is_on_device) {
  const bool is_half = call.compute == CUBLAS_COMPUTE_16F;
  float value = 0;
  std::uint16_t bits = 0;
  void* const to = is_half ? static_cast<void*>(&bits) : &value;
  const std::size_t size = is_half ? sizeof bits : sizeof value;
  if (is_on_device)
    download(to, at, size);
  else
    std::memcpy(to, at, size);
  return is_half ? from_f16(bits) : value;
}

// Matrix number `batch` of an operand.
const void* matrix(const FakeProduct& call, const void* data, std::int64_t stride, int type,
                   std::int64_t batch) {
  if (std::strncmp(call.function, "cublasGemmBatched", 17) == 0) {
    const void* found = nullptr;
    download(&found, static_cast<const void* const*>(data) + batch, sizeof found);
    return found;
  }
  return static_cast<const std::byte*>(data) + batch * stride * size_bytes(dtype(type));
}

}  // namespace

void multiply(const FakeProduct& call, cudaStream_t stream, bool has_device_scalars, double error) {
  driver("cuStreamSynchronize", stream);
  const float alpha = scalar(call, call.alpha, has_device_scalars);
  const float beta = scalar(call, call.beta, has_device_scalars);
  const bool ta = call.transa != 0, tb = call.transb != 0;
  for (std::int64_t batch = 0; batch < call.batch; ++batch) {
    const Operand a(matrix(call, call.A, call.strideA, call.Atype, batch), call.Atype,
                    ta ? call.k : call.m, ta ? call.m : call.k, call.lda);
    const Operand b(matrix(call, call.B, call.strideB, call.Btype, batch), call.Btype,
                    tb ? call.n : call.k, tb ? call.k : call.n, call.ldb);
    Operand c(matrix(call, call.C, call.strideC, call.Ctype, batch), call.Ctype, call.m, call.n,
              call.ldc);
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
