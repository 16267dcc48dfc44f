// SPDX-License-Identifier: Apache-2.0
// A program for Arm hosts, over the false driver: makes a handle, multiplies, and looks at what was
// launched. Prints "ok", or what is wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "bwgemm/bwgemm.h"
#include "support/fake_cuda.h"

namespace {

using bwgemm::test::FakeCuda;
using bwgemm::test::FakeLaunch;

// What the false driver, which the library has opened, exports beside the driver's functions.
template <class Function>
void find(const char* symbol, Function& function) {
  static void* const driver = dlopen(std::getenv("BWGEMM_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  function = driver != nullptr ? reinterpret_cast<Function>(dlsym(driver, symbol)) : nullptr;
}

bool require(bwgemmStatus_t status, const char* call) {
  if (status != BWGEMM_STATUS_SUCCESS)
    std::printf("%s: %s: %s\n", call, bwgemmStatusName(status), bwgemmGetLastErrorString());
  return status == BWGEMM_STATUS_SUCCESS;
}

}  // namespace

int main() {
  constexpr std::int64_t m = 512, n = 256, k = 1024;
  const float one = 1, zero = 0;
  auto* const a = reinterpret_cast<std::uint16_t*>(0x7f0000000000);
  auto *const b = a + m * k, *const c = b + n * k;
  bwgemmHandle_t handle = nullptr;
  if (!require(bwgemmCreate(&handle), "bwgemmCreate") ||
      !require(bwgemmBf16(handle, BWGEMM_OP_T, BWGEMM_OP_N, m, n, k, &one, a, k, b, k, &zero, c, m),
               "bwgemmBf16"))
    return 1;
  FakeCuda fake{};
  find("fake_cuda_launches", fake.launches);
  find("fake_cuda_launch", fake.launch);
  find("fake_cuda_misuse", fake.misuse);
  if (fake.launches == nullptr || fake.launch == nullptr || fake.misuse == nullptr) {
    std::puts("BWGEMM_LIBCUDA does not name the false driver");
    return 1;
  }
  if (fake.launches() != 1) {
    std::printf("%ld launches\n", fake.launches());
    return 1;
  }
  const FakeLaunch& launch = *fake.launch(0);
  if (std::strncmp(launch.kernel, "bwgemm_sm90_", 12) != 0 ||
      launch.params.m * launch.params.n != m * n || launch.params.k != k ||
      fake.misuse(0) != nullptr) {
    std::printf("%s of %lld x %lld x %lld; misuse: %s\n", launch.kernel,
                static_cast<long long>(launch.params.m), static_cast<long long>(launch.params.n),
                static_cast<long long>(launch.params.k),
                fake.misuse(0) != nullptr ? fake.misuse(0) : "none");
    return 1;
  }
  if (!require(bwgemmDestroy(handle), "bwgemmDestroy")) return 1;
  std::puts("ok");
  return 0;
}
