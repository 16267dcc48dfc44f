// SPDX-License-Identifier: Apache-2.0
#include "dropin/cublas.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <string>
#include <string_view>

#include "dropin/fork.h"
#include "dropin/reach.h"
#include "dropin/settings.h"
#include "dropin/symbols.h"

namespace bwgemm::dropin {

[[gnu::tls_model("initial-exec")]] constinit thread_local int Inside::depth = 0;

namespace {

// A library that copies are of. A copy is known by where it has the landmark.
struct Family {
  const char* landmark;
  bool (*is_named)(const char* path);
  const char* library;
};
constexpr Family cublas_family = {"cublasCreate_v2", is_named_cublas, "cuBLAS"};
constexpr Family cublaslt_family = {"cublasLtCreate", is_named_cublaslt, "cuBLASLt"};

struct Copy {
  const void* landmark;
  std::uintptr_t start, end;  // of the file that has the landmark
  bool is_cublaslt;
  Cublas functions;
};

constinit std::atomic<const Copy*> copies[16] = {};

template <class Function>
void find_real(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(real_symbol(library, name));
}

Cublas functions_of(void* library) {
  Cublas found{};
  find_real(library, "cublasCreate_v2", found.create);
  find_real(library, "cublasDestroy_v2", found.destroy);
  find_real(library, "cublasSetWorkspace_v2", found.set_workspace);
  find_real(library, "cublasSetStream_v2", found.set_stream);
  find_real(library, "cublasGetStream_v2", found.get_stream);
  find_real(library, "cublasGetPointerMode_v2", found.get_pointer_mode);
  find_real(library, "cublasGetMathMode", found.get_math_mode);
  find_real(library, "cublasGetSmCountTarget", found.get_sm_count_target);
  find_real(library, "cublasHgemm", found.hgemm);
  find_real(library, "cublasHgemm_64", found.hgemm_64);
  find_real(library, "cublasHgemmStridedBatched", found.hgemm_strided_batched);
  find_real(library, "cublasHgemmStridedBatched_64", found.hgemm_strided_batched_64);
  find_real(library, "cublasSgemmEx", found.sgemm_ex);
  find_real(library, "cublasSgemmEx_64", found.sgemm_ex_64);
  find_real(library, "cublasGemmEx", found.gemm_ex);
  find_real(library, "cublasGemmEx_64", found.gemm_ex_64);
  find_real(library, "cublasGemmStridedBatchedEx", found.gemm_strided_batched_ex);
  find_real(library, "cublasGemmStridedBatchedEx_64", found.gemm_strided_batched_ex_64);
  find_real(library, "cublasGemmBatchedEx", found.gemm_batched_ex);
  find_real(library, "cublasGemmBatchedEx_64", found.gemm_batched_ex_64);
  find_real(library, "cublasLtCreate", found.lt_create);
  find_real(library, "cublasLtDestroy", found.lt_destroy);
  find_real(library, "cublasLtMatmul", found.lt_matmul);
  find_real(library, "cublasLtMatmulAlgoConfigGetAttribute", found.lt_algo_config_get_attribute);
  find_real(library, "cublasLtMatmulDescGetAttribute", found.lt_getters.desc);
  find_real(library, "cublasLtMatrixLayoutGetAttribute", found.lt_getters.layout);
  LtMakers makers{};
  find_real(library, "cublasLtMatmulDescCreate", makers.create_desc);
  find_real(library, "cublasLtMatmulDescDestroy", makers.destroy_desc);
  find_real(library, "cublasLtMatrixLayoutCreate", makers.create_layout);
  find_real(library, "cublasLtMatrixLayoutDestroy", makers.destroy_layout);
  find_real(library, "cublasLtMatmulDescSetAttribute", makers.set_desc);
  find_real(library, "cublasLtMatrixLayoutSetAttribute", makers.set_layout);
  find_real(library, "cublasLtGetVersion", makers.get_version);
  found.lt_defaults = defaults_of(found.lt_getters, makers);
  if (found.lt_defaults.are_known)
    found.lt_images = images_of(found.lt_getters, makers, found.lt_defaults);
  return found;
}

// A library's name, or a wheel's with a hash behind it: the name is over where a dot or a dash is.
bool is_named(const char* path, std::string_view library) {
  const char* const slash = std::strrchr(path, '/');
  const std::string_view name = slash != nullptr ? slash + 1 : path;
  return name.starts_with(library) && name.size() > library.size() &&
         (name[library.size()] == '.' || name[library.size()] == '-');
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
const void* landmark_in(const char* path, const Family& family) {
  void* const library = if_loaded(path);
  if (library == nullptr) return nullptr;
  const void* const found = real_symbol(library, family.landmark);
  dlclose(library);  // which only counts: the caller, or whoever loaded the file, has it too
  return start_of_file(found) != start_of_file(&cublas_family) ? found : nullptr;
}

// Null for the program itself, whose scope begins with what was preloaded.
const char* path_of_library(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr || *map->l_name == '\0')
    return nullptr;
  return map->l_name;
}

const void* landmark_for(const void* caller, const Family& family) {
  const char* const path = path_of_library(caller);
  if (path != nullptr)
    if (const void* own = landmark_in(path, family)) return own;
  if (const void* next = real_symbol(RTLD_NEXT, family.landmark)) return next;
  const std::string file = loaded_file(family.is_named);
  return file.empty() ? nullptr : landmark_in(file.c_str(), family);
}

// Sets where the file that holds copy.landmark begins and ends.
void set_extent(Copy& copy) {
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    auto& found = *static_cast<Copy*>(data);
    std::uintptr_t start = UINTPTR_MAX, end = 0;
    for (int at = 0; at < info->dlpi_phnum; ++at) {
      const auto& header = info->dlpi_phdr[at];
      if (header.p_type != PT_LOAD) continue;
      start = std::min<std::uintptr_t>(start, info->dlpi_addr + header.p_vaddr);
      end = std::max<std::uintptr_t>(end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
    }
    const auto address = reinterpret_cast<std::uintptr_t>(found.landmark);
    if (address < start || address >= end) return 0;
    found.start = start;
    found.end = end;
    return 1;
  };
  dl_iterate_phdr(look, &copy);
}

const Cublas* known_copy(const void* at) {
  for (const std::atomic<const Copy*>& place : copies) {
    const Copy* const copy = place.load(std::memory_order_acquire);
    if (copy == nullptr) return nullptr;
    if (copy->landmark == at) return &copy->functions;
  }
  return nullptr;
}

const Cublas* new_copy(const void* at, const Family& family) {
  Dl_info info{};
  void* const library = dladdr(at, &info) != 0 ? if_loaded(info.dli_fname) : nullptr;
  if (library == nullptr) return nullptr;
  const bool is_cublaslt = &family == &cublaslt_family;
  auto* const copy = new Copy{at, 0, 0, is_cublaslt, functions_of(library)};
  set_extent(*copy);
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

const Cublas* copy_for(const void* caller, const Family& family) {
  try {
    const void* const at = landmark_for(caller, family);
    const Cublas* const known = at != nullptr ? known_copy(at) : nullptr;
    return at == nullptr || known != nullptr ? known : new_copy(at, family);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

const Cublas* found_copy(const void* caller, const Family& family, std::atomic<bool>& said) {
  note_call();
  const Cublas* const found = copy_for(caller, family);
  if (found == nullptr && !said.exchange(true)) {
    std::string line = "the process has called ";
    say(line.append(family.library).append(", but has not loaded it"));
  }
  return found;
}

}  // namespace

const Cublas* cublas_of(const void* caller) {
  static constinit std::atomic<bool> said{false};
  return found_copy(caller, cublas_family, said);
}

const Cublas* cublaslt_of(const void* caller) {
  static constinit std::atomic<bool> said{false};
  const char* const path = path_of_library(caller);
  const bool is_cublas = path != nullptr && is_named_cublas(path);
  return found_copy(caller, is_cublas ? cublas_family : cublaslt_family, said);
}

const Cublas* cublas_around(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const std::atomic<const Copy*>& place : copies) {
    const Copy* const copy = place.load(std::memory_order_acquire);
    if (copy == nullptr) return nullptr;
    if (!copy->is_cublaslt && address >= copy->start && address < copy->end)
      return &copy->functions;
  }
  return nullptr;
}

bool is_named_cublas(const char* path) {
  return is_named(path, "libcublas");
}

bool is_named_cublaslt(const char* path) {
  return is_named(path, "libcublasLt");
}

std::string loaded_file(bool (*is_named)(const char* path)) {
  struct Search {
    bool (*is_named)(const char* path);
    std::string file;
  } search{is_named, {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    if (!wanted.is_named(info->dlpi_name)) return 0;
    wanted.file = info->dlpi_name;
    return 1;
  };
  dl_iterate_phdr(look, &search);
  return search.file;
}

std::string loaded_cublas() {
  const std::string file = loaded_file(is_named_cublas);
  return file.empty() ? loaded_file(is_named_cublaslt) : file;
}

}  // namespace bwgemm::dropin
