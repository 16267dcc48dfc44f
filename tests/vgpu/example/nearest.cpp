// SPDX-License-Identifier: Apache-2.0
// Runs nearest.ptx through the CUDA driver API and checks what it finds. Nothing here knows on
// which driver it runs.
//
//   nearest PTX           the kernel
//   nearest PTX --race    the kernel with one mistake
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int queries = 128, keys = 512, depth = 64, rows = 64;  // rows of a tile
constexpr int threads = 160, row_bytes = 128;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::printf("%s: %s\n", call, name != nullptr ? name : "unknown error");
  std::exit(1);
}
#define CHECK(call) check(call, #call)

// Whole numbers from -4 to 4, whose sums are exact.
int value(int row, int column, unsigned seed) {
  const unsigned mixed = (row * 2654435761u ^ column * 40503u ^ seed) * 2246822519u;
  return static_cast<int>(mixed >> 20) % 9 - 4;
}

std::uint16_t half(int number) {
  constexpr std::uint16_t sizes[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
  return static_cast<std::uint16_t>(sizes[std::abs(number)] | (number < 0 ? 0x8000 : 0));
}

// A matrix on the device, and the map by which TMA loads 64 of its rows.
struct Rows {
  std::vector<int> values;
  CUdeviceptr address = 0;
  CUtensorMap map;

  Rows(int count, unsigned seed) {
    std::vector<std::uint16_t> halves;
    for (int row = 0; row < count; ++row)
      for (int column = 0; column < depth; ++column) {
        values.push_back(value(row, column, seed));
        halves.push_back(half(values.back()));
      }
    CHECK(cuMemAlloc(&address, halves.size() * sizeof halves[0]));
    CHECK(cuMemcpyHtoD(address, halves.data(), halves.size() * sizeof halves[0]));
    const cuuint64_t extent[] = {depth, static_cast<cuuint64_t>(count)}, stride[] = {row_bytes};
    const cuuint32_t box[] = {depth, rows}, steps[] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(address), extent, stride,
        box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  }
};

int nearest_of(int query, const Rows& all_queries, const Rows& all_keys) {
  int best = 0, best_score = -1 << 30;
  for (int key = 0; key < keys; ++key) {
    int score = 0;
    for (int i = 0; i < depth; ++i)
      score += all_queries.values[query * depth + i] * all_keys.values[key * depth + i];
    if (score > best_score) best = key, best_score = score;
  }
  return best;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::puts("nearest PTX [--race]"), 2;
  const bool race = count > 2 && std::string(arguments[2]) == "--race";
  std::stringstream ptx;
  ptx << std::ifstream(arguments[1]).rdbuf();

  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, ptx.str().c_str()));
  CHECK(cuModuleGetFunction(&kernel, module, race ? "nearest_with_a_race" : "nearest"));

  Rows all_queries(queries, 1), all_keys(keys, 2);
  std::vector<int> found(queries, -1);
  CUdeviceptr out = 0;
  CHECK(cuMemAlloc(&out, found.size() * sizeof found[0]));
  int tiles = keys / rows;
  void* parameters[] = {&all_queries.map, &all_keys.map, &tiles, &out};
  CHECK(
      cuLaunchKernel(kernel, queries / rows, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(found.data(), out, found.size() * sizeof found[0]));

  int wrong = 0;
  for (int query = 0; query < queries; ++query)
    wrong += found[query] != nearest_of(query, all_queries, all_keys);
  std::printf("%d of %d queries have the right nearest key\n", queries - wrong, queries);
  return wrong == 0 ? 0 : 1;
}
