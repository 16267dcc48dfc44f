// SPDX-License-Identifier: Apache-2.0
#include "dropin/symbols.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <string_view>

#include "dropin/cublas.h"
#include "dropin/settings.h"

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);

// What the code in assembly below calls and jumps to. The functions return the function of this
// library that the lookup is for, or null. Before they return, the pointers are set.
extern "C" {
[[gnu::visibility("hidden"), gnu::used]] void* bwgemm_dropin_own(void* handle, const char* name,
                                                                 const void* caller);
[[gnu::visibility("hidden"), gnu::used]] void* bwgemm_dropin_own_of_version(void* handle,
                                                                            const char* name,
                                                                            const char* version,
                                                                            const void* caller);
[[gnu::visibility("hidden"), gnu::used]] constinit std::atomic<Dlsym> bwgemm_dropin_dlsym{nullptr};
[[gnu::visibility("hidden"), gnu::used]] constinit std::atomic<Dlvsym> bwgemm_dropin_dlvsym{
    nullptr};
}

namespace bwgemm::dropin {
namespace {

struct OwnFunction {
  std::string_view name;
  void* address;
};

template <class Function>
OwnFunction own(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

void* own_function(std::string_view name) {
  const OwnFunction all[] = {
      own("cublasCreate_v2", &cublasCreate_v2),
      own("cublasDestroy_v2", &cublasDestroy_v2),
      own("cublasSetStream_v2", &cublasSetStream_v2),
      own("cublasSetWorkspace_v2", &cublasSetWorkspace_v2),
      own("cublasGemmEx", &cublasGemmEx),
      own("cublasGemmEx_64", &cublasGemmEx_64),
      own("cublasGemmStridedBatchedEx", &cublasGemmStridedBatchedEx),
      own("cublasGemmStridedBatchedEx_64", &cublasGemmStridedBatchedEx_64),
      own("cublasGemmBatchedEx", &cublasGemmBatchedEx),
      own("cublasGemmBatchedEx_64", &cublasGemmBatchedEx_64),
      own("cublasHgemm", &cublasHgemm),
      own("cublasHgemm_64", &cublasHgemm_64),
      own("cublasHgemmStridedBatched", &cublasHgemmStridedBatched),
      own("cublasHgemmStridedBatched_64", &cublasHgemmStridedBatched_64),
      own("cublasSgemmEx", &cublasSgemmEx),
      own("cublasSgemmEx_64", &cublasSgemmEx_64),
      own("cublasLtCreate", &cublasLtCreate),
      own("cublasLtDestroy", &cublasLtDestroy),
      own("cublasLtMatmul", &cublasLtMatmul),
  };
  for (const OwnFunction& function : all)
    if (function.name == name) return function.address;
  return nullptr;
}

const char* file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Whether calls of that function would reach the copy that it belongs to: the caller need not be
// linked to it, so that they go to the first copy of the process.
bool is_of_first_copy(const void* function) {
  const char* const file = file_of(function);
  const auto is_named = is_named_cublas(file) ? is_named_cublas : is_named_cublaslt;
  return is_named(file) && loaded_file(is_named) == file;
}

bool is_cublas_itself(const void* caller) {
  const char* const file = file_of(caller);
  return is_named_cublas(file) || is_named_cublaslt(file);
}

bool may_be_for_cublas(const void* handle, const char* name) {
  return handle != RTLD_DEFAULT && handle != RTLD_NEXT && name != nullptr &&
         std::strncmp(name, "cublas", std::strlen("cublas")) == 0;
}

// ---- the dynamic linker's own functions ---------------------------------------------------------

// The symbols of a file, as its dynamic section says.
struct Symbols {
  const ElfW(Sym) * all;
  const char* names;
  std::size_t count;
};

// The last symbol that a hash table of GNU's kind has, and one more.
std::size_t count_by(const std::uint32_t* hash) {
  const std::uint32_t buckets = hash[0], first = hash[1], words = hash[2];
  const std::uint32_t* const bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* const chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t at = 0; at < buckets; ++at) last = std::max(last, bucket[at]);
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

Symbols symbols_of(const link_map& file) {
  Symbols found{};
  for (const auto* dynamic = file.l_ld; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto address = dynamic->d_un.d_ptr;  // glibc has made it absolute
    if (dynamic->d_tag == DT_SYMTAB) found.all = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(address);
    if (dynamic->d_tag == DT_GNU_HASH)
      found.count = count_by(reinterpret_cast<const std::uint32_t*>(address));
  }
  return found;
}

bool is_same(const char* one, const char* other) {
  for (; *one != '\0' && *one == *other; ++one) ++other;
  return *one == *other;
}

const char* name_in(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path)
    if (*path == '/') name = path + 1;
  return name;
}

// dlvsym of the C library, found past this library's own. A sanitizer looks up the C library's
// functions before its own in front of them work: none of them is called here.
Dlvsym dlvsym_of_libc() {
  const link_map* file = _r_debug.r_map;
  while (file != nullptr && !is_same(name_in(file->l_name), "libc.so.6")) file = file->l_next;
  if (file == nullptr) return nullptr;
  const Symbols symbols = symbols_of(*file);
  if (symbols.all == nullptr || symbols.names == nullptr) return nullptr;
  for (std::size_t at = 0; at < symbols.count; ++at) {
    const auto& symbol = symbols.all[at];
    if (symbol.st_shndx != SHN_UNDEF && is_same(symbols.names + symbol.st_name, "dlvsym"))
      return reinterpret_cast<Dlvsym>(file->l_addr + symbol.st_value);
  }
  return nullptr;
}

constexpr const char* version_of_libc = "GLIBC_2.34";  // in which libc has them

// Those of the next library that has them: another one may stand in front of the dynamic linker
// too.
void find_real() {
  if (bwgemm_dropin_dlsym.load(std::memory_order_acquire) != nullptr) return;
  const Dlvsym dlvsym_here = dlvsym_of_libc();
  if (dlvsym_here == nullptr) __builtin_trap();  // then no symbol can be found by anybody
  const auto next = [&](const char* name) { return dlvsym_here(RTLD_NEXT, name, version_of_libc); };
  void* const versioned = next("dlvsym");
  bwgemm_dropin_dlvsym.store(
      versioned != nullptr ? reinterpret_cast<Dlvsym>(versioned) : dlvsym_here,
      std::memory_order_release);
  bwgemm_dropin_dlsym.store(reinterpret_cast<Dlsym>(next("dlsym")), std::memory_order_release);
}

// `find` is the lookup by the dynamic linker.
template <class Find>
void* own_instead(const void* handle, const char* name, const void* caller, const Find& find) {
  find_real();
  if (!may_be_for_cublas(handle, name)) return nullptr;
  try {
    if (!settings().hooks_dlsym || is_cublas_itself(caller)) return nullptr;
    void* const instead = own_function(name);
    if (instead == nullptr) return nullptr;
    const void* const found = find();
    return found != nullptr && is_of_first_copy(found) ? instead : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* real_symbol(void* handle, const char* name) {
  find_real();
  return bwgemm_dropin_dlsym.load(std::memory_order_relaxed)(handle, name);
}

}  // namespace bwgemm::dropin

void* bwgemm_dropin_own(void* handle, const char* name, const void* caller) {
  using namespace bwgemm::dropin;
  return own_instead(handle, name, caller, [=] { return real_symbol(handle, name); });
}

void* bwgemm_dropin_own_of_version(void* handle, const char* name, const char* version,
                                   const void* caller) {
  using namespace bwgemm::dropin;
  return own_instead(handle, name, caller, [=] {
    return bwgemm_dropin_dlvsym.load(std::memory_order_relaxed)(handle, name, version);
  });
}

// The dynamic linker tells by the address that a call returns to whose lookup it is. So its
// functions are jumped to, with the program's registers and stack.
#if defined(__x86_64__)
asm(R"(
.text
.globl dlsym
.type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movq 24(%rsp), %rdx
  call bwgemm_dropin_own
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jnz 1f
  jmp *bwgemm_dropin_dlsym(%rip)
1:
  ret
  .cfi_endproc
.size dlsym, .-dlsym

.globl dlvsym
.type dlvsym, @function
dlvsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  movq 24(%rsp), %rcx
  call bwgemm_dropin_own_of_version
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jnz 1f
  jmp *bwgemm_dropin_dlvsym(%rip)
1:
  ret
  .cfi_endproc
.size dlvsym, .-dlvsym
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl dlsym
.type dlsym, %function
dlsym:
  .cfi_startproc
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset x29, -48
  .cfi_offset x30, -40
  stp x0, x1, [sp, #16]
  mov x29, sp
  mov x2, x30
  bl bwgemm_dropin_own
  mov x9, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #48
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  cbnz x9, 1f
  adrp x16, bwgemm_dropin_dlsym
  ldr x16, [x16, :lo12:bwgemm_dropin_dlsym]
  br x16
1:
  mov x0, x9
  ret
  .cfi_endproc
.size dlsym, .-dlsym

.globl dlvsym
.type dlvsym, %function
dlvsym:
  .cfi_startproc
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset x29, -48
  .cfi_offset x30, -40
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  mov x29, sp
  mov x3, x30
  bl bwgemm_dropin_own_of_version
  mov x9, x0
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_restore x30
  .cfi_restore x29
  .cfi_def_cfa_offset 0
  cbnz x9, 1f
  adrp x16, bwgemm_dropin_dlvsym
  ldr x16, [x16, :lo12:bwgemm_dropin_dlvsym]
  br x16
1:
  mov x0, x9
  ret
  .cfi_endproc
.size dlvsym, .-dlvsym
)");
#else
#error "dlsym of this processor is not written"
#endif
