// SPDX-License-Identifier: Apache-2.0
// Question 11: one fixed random problem on every Hopper row of the library, through its public API.
// The answer is a hash of D (f32) for each pair of transpositions: where sums are formed alike, all
// are equal.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "bwgemm/bwgemm.h"
#include "vgpu/calibration/calibration.h"
#include "vgpu/calibration/sum_cases.h"

namespace bwgemm::calibration {
namespace {

struct Size {
  int m, n, k;
};
// Ragged tiles and ragged k; the others for rows that take few rows or columns.
constexpr Size sizes[] = {{200, 136, 328}, {8, 136, 328}, {136, 8, 328}};

// Seven significant bits and eleven binary orders: exact in both types.
float element(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  z ^= z >> 31;
  const auto mantissa = static_cast<float>(64 + (z & 63));
  const float scale = std::ldexp(1.0f, static_cast<int>(z >> 8 & 0xff) % 11 - 11);
  return (z >> 20 & 1 ? -mantissa : mantissa) * scale;
}

// rows x columns in column order, or its transpose.
std::vector<std::uint16_t> matrix(int rows, int columns, bool transposed, std::uint64_t first,
                                  bool is_f16) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(rows) * columns);
  for (int column = 0; column < columns; ++column)
    for (int row = 0; row < rows; ++row)
      values[transposed ? row * columns + column : column * rows + row] =
          to_16_bits(element(first + static_cast<std::uint64_t>(column) * 4096 + row), is_f16);
  return values;
}

void require(bwgemmStatus_t status) {
  if (status == BWGEMM_STATUS_SUCCESS) return;
  throw std::runtime_error(
      std::string(bwgemmStatusName(status)).append(": ").append(bwgemmGetLastErrorString()));
}

// "" if the row does not serve the problem.
std::string product(bwgemmHandle_t handle, const Size& size, bool is_f16, bool transa, bool transb,
                    const RawData& raw) {
  static std::set<std::uint64_t> kept;
  const auto [m, n, k] = size;
  const Memory a(matrix(m, k, transa, 0, is_f16)), b(matrix(k, n, transb, 1 << 28, is_f16));
  const Memory c(static_cast<std::size_t>(m) * n * sizeof(float), 0xff);
  const float alpha = 1, beta = 0;
  const bwgemmDataType_t type = is_f16 ? BWGEMM_R_16F : BWGEMM_R_16BF;
  const bwgemmStatus_t status =
      bwgemmGemmEx(handle, transa ? BWGEMM_OP_T : BWGEMM_OP_N, transb ? BWGEMM_OP_T : BWGEMM_OP_N,
                   m, n, k, &alpha, reinterpret_cast<void*>(a.address()), type, transa ? k : m,
                   reinterpret_cast<void*>(b.address()), type, transb ? n : k, &beta,
                   reinterpret_cast<void*>(c.address()), BWGEMM_R_32F, m, BWGEMM_COMPUTE_32F, -1);
  if (status == BWGEMM_STATUS_NOT_SUPPORTED) return {};
  require(status);
  const auto d = c.read<float>();
  const std::uint64_t hash = hash_of(d);
  if (kept.insert(hash).second)
    raw.add("d." + std::to_string(m) + "x" + std::to_string(n) + "." + hexadecimal(hash), d);
  return std::string(1, transa ? 't' : 'n').append(transb ? "t " : "n ").append(hexadecimal(hash));
}

Answer products(const RawData& raw, const std::string& kernel, bool is_f16) {
  setenv("BWGEMM_FORCE_KERNEL", kernel.c_str(), 1);
  bwgemmHandle_t handle = nullptr;
  require(bwgemmCreate(&handle));
  std::vector<std::string> served;
  for (const Size& size : sizes) {
    for (const bool transa : {false, true})
      for (const bool transb : {false, true}) {
        const std::string one = product(handle, size, is_f16, transa, transb, raw);
        if (!one.empty()) served.push_back(one);
      }
    if (served.empty()) continue;
    served.insert(served.begin(), std::to_string(size.m) + "x" + std::to_string(size.n) + "x" +
                                      std::to_string(size.k));
    break;
  }
  require(bwgemmDestroy(handle));
  return {served.empty() ? "serves none of the problems" : joined(served)};
}

}  // namespace

std::vector<int> all_questions() {
  return {11};
}

std::vector<Case> cases_of(int question) {
  std::vector<Case> cases;
  if (question != 11) return cases;
  for (int i = 0; i < bwgemmKernelCount(); ++i) {
    const std::string kernel = bwgemmKernelName(i);
    if (kernel.find("_sm90_") == std::string::npos) continue;
    for (const bool is_f16 : {false, true})
      cases.push_back({"11." + kernel + (is_f16 ? ".f16" : ".bf16"),
                       [kernel, is_f16](Device&, const RawData& raw) {
                         return products(raw, kernel, is_f16);
                       }});
  }
  return cases;
}

}  // namespace bwgemm::calibration

int main(int count, char** arguments) {
  return bwgemm::calibration::calibrate(count, arguments);
}
