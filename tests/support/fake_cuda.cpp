// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cuda.h"

#include <dlfcn.h>
#include <stdexcept>

#include "support/driver.h"

namespace bwgemm::test {
namespace {

template <class Function>
void find_own(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr)
    throw std::runtime_error(driver_path() + " is not the test double: set BWGEMM_LIBCUDA to it");
}

FakeCuda fake_functions() {
  void* library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  FakeCuda found{};
  find_own(library, "fake_cuda_reset", found.reset);
  find_own(library, "fake_cuda_calls", found.calls);
  find_own(library, "fake_cuda_call_name", found.call_name);
  find_own(library, "fake_cuda_fail_call", found.fail_call);
  find_own(library, "fake_cuda_fail_entry", found.fail_entry);
  find_own(library, "fake_cuda_launches", found.launches);
  find_own(library, "fake_cuda_launch", found.launch);
  find_own(library, "fake_cuda_time_launches", found.time_launches);
  find_own(library, "fake_cuda_capture_mode", found.capture_mode);
  find_own(library, "fake_cuda_live", found.live);
  find_own(library, "fake_cuda_misuse", found.misuse);
  find_own(library, "fake_cuda_on_call", found.on_call);
  find_own(library, "fake_cuda_be_quick", found.be_quick);
  find_own(library, "fake_cuda_forget_released", found.forget_released);
  return found;
}

}  // namespace

const FakeCuda& fake_cuda() {
  static const FakeCuda loaded = fake_functions();
  return loaded;
}

}  // namespace bwgemm::test
