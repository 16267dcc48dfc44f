// SPDX-License-Identifier: Apache-2.0
// A user's application: links to the CUDA driver and to the installed library, computes a product
// and checks it. Nothing in it knows of a virtual GPU.
#include <bwgemm/bwgemm.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(CUresult result) {
  if (result != CUDA_SUCCESS) throw std::runtime_error("CUDA error " + std::to_string(result));
}

// Small integers are exact in bfloat16, the upper half of a float.
std::uint16_t bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

float element(std::int64_t row, std::int64_t column) {
  return static_cast<float>((3 * row + 5 * column) % 7 - 3);
}

std::vector<std::uint16_t> matrix(std::int64_t rows, std::int64_t columns) {
  std::vector<std::uint16_t> elements;
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row) elements.push_back(bf16(element(row, column)));
  return elements;
}

CUdeviceptr uploaded(const std::vector<std::uint16_t>& elements) {
  CUdeviceptr memory = 0;
  check(cuMemAlloc(&memory, elements.size() * 2));
  check(cuMemcpyHtoD(memory, elements.data(), elements.size() * 2));
  return memory;
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k) {
  const CUdeviceptr a = uploaded(matrix(m, k)), b = uploaded(matrix(k, n));
  CUdeviceptr c = 0;
  check(cuMemAlloc(&c, static_cast<std::size_t>(4 * m * n)));
  CUstream stream = nullptr;
  // Ordered after the default stream's uploads, which may still be under way.
  check(cuStreamCreate(&stream, CU_STREAM_DEFAULT));

  bwgemm::Handle handle;
  handle.set_stream(stream);
  bwgemm::Gemm gemm;
  gemm.m = m, gemm.n = n, gemm.k = k;
  gemm.a = {reinterpret_cast<const void*>(a), BWGEMM_R_16BF, m};
  gemm.b = {reinterpret_cast<const void*>(b), BWGEMM_R_16BF, k};
  gemm.c = bwgemm::output(reinterpret_cast<float*>(c), m);
  handle.gemm(gemm);

  std::vector<float> result(static_cast<std::size_t>(m * n));
  check(cuStreamSynchronize(stream));
  check(cuMemcpyDtoH(result.data(), c, 4 * result.size()));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += element(i, l) * element(l, j);
      if (result[static_cast<std::size_t>(i + j * m)] != sum)
        throw std::runtime_error("wrong at " + std::to_string(i) + ", " + std::to_string(j));
    }
  handle.destroy();
  check(cuStreamDestroy(stream));
  for (const CUdeviceptr memory : {a, b, c}) check(cuMemFree(memory));
}

}  // namespace

int main() {
  try {
    CUdevice device = 0;
    CUcontext context = nullptr;
    char name[64];
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDeviceGetName(name, sizeof name, device));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    multiply(128, 64, 192);  // loaded by TMA
    multiply(37, 19, 53);    // too unaligned for that
    std::printf("%s: right\n", name);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
