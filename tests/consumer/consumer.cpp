// SPDX-License-Identifier: Apache-2.0
// A C++ program that uses the installed library. Needs no GPU: prints the kernels.
#include <bwgemm/bwgemm.h>
#include <iostream>

int main() {
  std::cout << bwgemmGetBuildInfo() << '\n';
  for (int i = 0; i < bwgemmKernelCount(); ++i) std::cout << bwgemmKernelName(i) << '\n';
  return bwgemmGetVersion() == BWGEMM_VERSION ? 0 : 1;
}
