// SPDX-License-Identifier: Apache-2.0
#include "dropin/cublas.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <string>
#include <vector>

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

// The paths of the loaded files that are called libcublas.so and anything.
std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  const auto look = [](dl_phdr_info* info, std::size_t, void* list) {
    constexpr const char* prefix = "libcublas.so";
    const char* const slash = std::strrchr(info->dlpi_name, '/');
    const char* const name = slash != nullptr ? slash + 1 : info->dlpi_name;
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0)
      static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(look, &files);
  return files;
}

void* if_loaded(const char* path) {
  return dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
}

const void* landmark_in(const char* path) {
  void* const library = if_loaded(path);
  return library != nullptr ? dlsym(library, landmark) : nullptr;
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
  const std::vector<std::string> files = loaded_files();
  if (files.size() > 1)
    if (const void* own = landmark_below(caller)) return own;
  if (const void* next = dlsym(RTLD_NEXT, landmark)) return next;
  return files.empty() ? nullptr : landmark_in(files.front().c_str());
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
