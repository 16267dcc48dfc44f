// SPDX-License-Identifier: Apache-2.0
#include "dropin/cublas.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <string>

#include "dropin/fork.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {

constinit thread_local int Inside::depth = 0;

namespace {

// A copy is known by where it has this function.
constexpr const char* landmark = "cublasCreate_v2";

struct Copy {
  const void* landmark;
  Cublas functions;
};

constinit std::atomic<const Copy*> copies[16] = {};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

Cublas functions_of(void* library) {
  Cublas found{};
  find(library, "cublasCreate_v2", found.create);
  find(library, "cublasDestroy_v2", found.destroy);
  find(library, "cublasSetWorkspace_v2", found.set_workspace);
  find(library, "cublasSetStream_v2", found.set_stream);
  find(library, "cublasGetStream_v2", found.get_stream);
  find(library, "cublasGetPointerMode_v2", found.get_pointer_mode);
  find(library, "cublasGetMathMode", found.get_math_mode);
  find(library, "cublasGetSmCountTarget", found.get_sm_count_target);
  find(library, "cublasHgemm", found.hgemm);
  find(library, "cublasHgemm_64", found.hgemm_64);
  find(library, "cublasHgemmStridedBatched", found.hgemm_strided_batched);
  find(library, "cublasHgemmStridedBatched_64", found.hgemm_strided_batched_64);
  find(library, "cublasSgemmEx", found.sgemm_ex);
  find(library, "cublasSgemmEx_64", found.sgemm_ex_64);
  find(library, "cublasGemmEx", found.gemm_ex);
  find(library, "cublasGemmEx_64", found.gemm_ex_64);
  find(library, "cublasGemmStridedBatchedEx", found.gemm_strided_batched_ex);
  find(library, "cublasGemmStridedBatchedEx_64", found.gemm_strided_batched_ex_64);
  find(library, "cublasGemmBatchedEx", found.gemm_batched_ex);
  find(library, "cublasGemmBatchedEx_64", found.gemm_batched_ex_64);
  return found;
}

// libcublas.so and anything, or a wheel's libcublas-, a hash and .so. libcublasLt is not cuBLAS.
bool is_named_cublas(const char* path) {
  constexpr const char* prefix = "libcublas";
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash != nullptr ? slash + 1 : path;
  if (std::strncmp(name, prefix, std::strlen(prefix)) != 0) return false;
  const char next = name[std::strlen(prefix)];
  return next == '.' || next == '-';
}

// The path of a loaded file of cuBLAS; empty if there is none.
std::string loaded_file() {
  std::string file;
  const auto look = [](dl_phdr_info* info, std::size_t, void* found) {
    if (!is_named_cublas(info->dlpi_name)) return 0;
    *static_cast<std::string*>(found) = info->dlpi_name;
    return 1;
  };
  dl_iterate_phdr(look, &file);
  return file;
}

// Where a file begins that holds the address; null if no file does.
const void* start_of_file(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

void* if_loaded(const char* path) {
  return dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
}

// In the file or what it depends on. Null also if this library is the first of these.
const void* landmark_in(const char* path) {
  void* const library = if_loaded(path);
  if (library == nullptr) return nullptr;
  const void* const found = dlsym(library, landmark);
  dlclose(library);  // which only counts: the caller, or whoever loaded the file, has it too
  return start_of_file(found) != start_of_file(landmark) ? found : nullptr;
}

// What the caller's own file depends on. Null for the program itself, whose scope begins with what
// was preloaded.
const void* landmark_below(const void* caller) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr || *map->l_name == '\0')
    return nullptr;
  return landmark_in(map->l_name);
}

const void* landmark_for(const void* caller) {
  if (const void* own = landmark_below(caller)) return own;
  if (const void* next = dlsym(RTLD_NEXT, landmark)) return next;
  const std::string file = loaded_file();
  return file.empty() ? nullptr : landmark_in(file.c_str());
}

const Cublas* known_copy(const void* at) {
  for (const std::atomic<const Copy*>& place : copies) {
    const Copy* const copy = place.load(std::memory_order_acquire);
    if (copy == nullptr) return nullptr;
    if (copy->landmark == at) return &copy->functions;
  }
  return nullptr;
}

const Cublas* new_copy(const void* at) {
  Dl_info info{};
  void* const library = dladdr(at, &info) != 0 ? if_loaded(info.dli_fname) : nullptr;
  if (library == nullptr) return nullptr;
  const auto* const copy = new Copy{at, functions_of(library)};
  const std::lock_guard lock(seldom());
  if (const Cublas* known = known_copy(at)) {
    delete copy;
    return known;
  }
  for (std::atomic<const Copy*>& place : copies) {
    if (place.load(std::memory_order_relaxed) != nullptr) continue;
    place.store(copy, std::memory_order_release);
    return &copy->functions;
  }
  delete copy;
  return nullptr;
}

const Cublas* copy_for(const void* caller) {
  try {
    const void* const at = landmark_for(caller);
    const Cublas* const known = at != nullptr ? known_copy(at) : nullptr;
    return at == nullptr || known != nullptr ? known : new_copy(at);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

const Cublas* cublas_of(const void* caller) {
  const Cublas* const found = copy_for(caller);
  if (found == nullptr) {
    static constinit std::atomic<bool> said{false};
    if (!said.exchange(true)) say("the process has called cuBLAS, but has not loaded it");
  }
  return found;
}

}  // namespace bwgemm::dropin
