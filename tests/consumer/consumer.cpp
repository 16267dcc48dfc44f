// SPDX-License-Identifier: Apache-2.0
// A C++ program that uses the installed library. Needs no GPU: prints the kernels.
#include <bwgemm/bwgemm.hpp>
#include <iostream>

int main() {
  std::cout << bwgemm::build_info() << '\n';
  for (const std::string& kernel : bwgemm::kernel_names()) std::cout << kernel << '\n';
  return bwgemm::version() == BWGEMM_VERSION ? 0 : 1;
}
