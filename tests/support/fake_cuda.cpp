// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cuda.h"

#include <dlfcn.h>
#include <stdexcept>

#include "support/driver.h"

namespace bwgemm::test {
namespace {

template <class Function>
void find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr)
    throw std::runtime_error(driver_path() + " is not the test double: set BWGEMM_LIBCUDA to it");
}

FakeCuda load() {
  void* library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  FakeCuda found{};
  find(library, "fake_cuda_reset", found.reset);
  find(library, "fake_cuda_calls", found.calls);
  find(library, "fake_cuda_call_name", found.call_name);
  find(library, "fake_cuda_fail_call", found.fail_call);
  find(library, "fake_cuda_fail_entry", found.fail_entry);
  find(library, "fake_cuda_launches", found.launches);
  find(library, "fake_cuda_launch", found.launch);
  find(library, "fake_cuda_time_launches", found.time_launches);
  find(library, "fake_cuda_capture_mode", found.capture_mode);
  find(library, "fake_cuda_live", found.live);
  find(library, "fake_cuda_misuse", found.misuse);
  find(library, "fake_cuda_run_destructors", found.run_destructors);
  find(library, "fake_cuda_be_quick", found.be_quick);
  find(library, "fake_cuda_forget_released", found.forget_released);
  return found;
}

}  // namespace

const FakeCuda& fake_cuda() {
  static const FakeCuda loaded = load();
  return loaded;
}

}  // namespace bwgemm::test
