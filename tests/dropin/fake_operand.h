// SPDX-License-Identifier: Apache-2.0
// Memory of the device as the doubles of cuBLAS and cuBLASLt see it: by copies on the host.
#pragma once

#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <vector>

#include "dropin/cublas_abi.h"
#include "support/element.h"

namespace bwgemm::test {

// Calls a function of the driver that tests and library use. The device must compute.
template <class... Arguments>
void driver_call(const char* name, Arguments... arguments) {
  const char* const named = std::getenv("BWGEMM_LIBCUDA");
  static void* const library = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr || reinterpret_cast<CUresult (*)(Arguments...)>(found)(arguments...) != 0)
    std::abort();
}

// With FAKE_CUBLAS_SPENDS a product computes nothing. If that is 1, over the false driver, it takes
// the device a microsecond for each row of the result, as many times as the number of an algorithm
// of cuBLASLt says.
inline bool spends(std::int64_t rows, cudaStream_t stream) {
  const char* const asked = std::getenv("FAKE_CUBLAS_SPENDS");
  if (asked == nullptr) return false;
  if (std::strcmp(asked, "1") != 0) return true;
  driver_call("fake_cuda_spend", stream, static_cast<double>(rows));
  return true;
}

inline Dtype dtype_of(int type) {
  return type == CUDA_R_32F ? Dtype::f32 : type == CUDA_R_16F ? Dtype::f16 : Dtype::bf16;
}

inline void copy_to_host(void* to, const void* from, std::size_t bytes) {
  driver_call("cuMemcpyDtoH_v2", to, reinterpret_cast<CUdeviceptr>(from), bytes);
}

// A matrix in device memory, copied to the host as far as it reaches.
class DeviceOperand {
 public:
  DeviceOperand(const void* at, int type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                bool is_row_major = false)
      : at_(at), type_(dtype_of(type)), ld_(ld), is_row_major_(is_row_major) {
    if (rows == 0 || columns == 0) return;
    const std::int64_t last = offset(rows - 1, columns - 1);
    bytes_.resize(static_cast<std::size_t>((last + 1) * size_bytes(type_)));
    copy_to_host(bytes_.data(), at, bytes_.size());
  }

  float get(std::int64_t row, std::int64_t column) const {
    return load(bytes_.data() + offset(row, column) * size_bytes(type_), type_);
  }
  void set(std::int64_t row, std::int64_t column, float value) {
    store(bytes_.data() + offset(row, column) * size_bytes(type_), type_, value);
  }
  void upload() const {
    driver_call("cuMemcpyHtoD_v2", reinterpret_cast<CUdeviceptr>(at_),
                static_cast<const void*>(bytes_.data()), bytes_.size());
  }

 private:
  std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return is_row_major_ ? row * ld_ + column : column * ld_ + row;
  }

  const void* at_;
  Dtype type_;
  std::int64_t ld_;
  bool is_row_major_;
  std::vector<std::byte> bytes_;
};

}  // namespace bwgemm::test
