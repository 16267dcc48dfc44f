// SPDX-License-Identifier: Apache-2.0
#include "launch/driver.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <type_traits>

#include "launch/fork.h"

namespace bwgemm {
namespace {

constexpr int oldest_driver = 12080;

ForkedMutex keeping;

std::string version_text(int cuda_version) {
  return text(cuda_version / 1000, ".", cuda_version % 1000 / 10);
}

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

[[noreturn]] void too_old(const char* path, const std::string& what) {
  throw Error(BWGEMM_STATUS_DRIVER_TOO_OLD,
              text("the CUDA driver ", path, " is too old: ", what, "; bwgemm needs CUDA ",
                   version_text(oldest_driver), " or newer"));
}

}  // namespace

DriverLibrary::DriverLibrary(const char* path) : path_(path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw Error(BWGEMM_STATUS_NO_DRIVER,
                text("the CUDA driver cannot be opened: ", reason != nullptr ? reason : path));
  }
  const auto get_version = symbol<decltype(::cuDriverGetVersion)>(library, "cuDriverGetVersion");
  if (get_version == nullptr || get_version(&version_) != CUDA_SUCCESS)
    throw Error(BWGEMM_STATUS_NO_DRIVER,
                text(path, " is not a working CUDA driver: cuDriverGetVersion ",
                     get_version == nullptr ? "is missing" : "failed"));
  if (version_ < oldest_driver) too_old(path_, text("it is CUDA ", version_text(version_)));
  get_proc_address_ = symbol<decltype(::cuGetProcAddress)>(library, "cuGetProcAddress_v2");
  if (get_proc_address_ == nullptr) too_old(path_, "it lacks cuGetProcAddress_v2 (CUDA 12.0)");
}

void* DriverLibrary::find(const char* name, int cuda_version) const {
  void* function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result =
      get_proc_address_(name, &function, cuda_version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  return result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS ? function : nullptr;
}

void* DriverLibrary::require(const char* name, int cuda_version) const {
  void* function = find(name, cuda_version);
  if (function == nullptr)
    too_old(path_, text("it is CUDA ", version_text(version_), " but lacks ", name, " (CUDA ",
                        version_text(cuda_version), ")"));
  return function;
}

std::string Driver::describe(const char* entry, CUresult result) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (cuGetErrorString(result, &meaning) != CUDA_SUCCESS || meaning == nullptr) meaning = "?";
  return text(entry, ": ", name, " ", static_cast<int>(result), " (", meaning, ")");
}

void Driver::fail(const char* entry, CUresult result) const {
  throw Error(status_of(result), describe(entry, result));
}

// Threads that come at the same time each open the driver, and the first one's is kept. No lock is
// held meanwhile: opening asks the dynamic linker, which a thread that waits for the lock may hold,
// where a library's constructor calls.
const Driver& open_driver(const char* path) {
  // Without destructors: nothing of the driver is touched at exit.
  static_assert(std::is_trivially_destructible_v<Driver>);
  static constinit std::atomic<const Driver*> opened{nullptr};
  if (const Driver* driver = opened.load(std::memory_order_acquire)) return *driver;

  const Driver driver(path);
  driver.call(driver.cuInit, 0U);
  const std::lock_guard lock(keeping);
  if (const Driver* kept = opened.load(std::memory_order_relaxed)) return *kept;
  alignas(Driver) static std::byte storage[sizeof(Driver)];  // goes with the library
  const Driver* const kept = new (storage) Driver(driver);
  opened.store(kept, std::memory_order_release);
  return *kept;
}

bwgemmStatus_t status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS: return BWGEMM_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY: return BWGEMM_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE: return BWGEMM_STATUS_NO_DEVICE;
    case CUDA_ERROR_STUB_LIBRARY: return BWGEMM_STATUS_NO_DRIVER;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: return BWGEMM_STATUS_DRIVER_TOO_OLD;
    // What the user's own work or a teardown does to a context.
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return BWGEMM_STATUS_EXECUTION_FAILED;
    default: return BWGEMM_STATUS_INTERNAL_ERROR;
  }
}

}  // namespace bwgemm
