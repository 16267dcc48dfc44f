// SPDX-License-Identifier: Apache-2.0
#include "api/heap.h"

#include <cerrno>
#include <cstdlib>

namespace bwgemm::test {
namespace {

constinit thread_local bool is_counting = false;
constinit thread_local long heap_calls = 0;
constinit thread_local long until_failure = 0;  // 0: none is to come
constinit thread_local bool has_failed = false;

}  // namespace

void count_heap_calls() {
  heap_calls = 0;
  is_counting = true;
}

long counted_heap_calls() {
  is_counting = false;
  return heap_calls;
}

void fail_allocation(long n) {
  until_failure = n;
  has_failed = false;
}

bool has_failed_allocation() {
  return has_failed;
}

#if !BWGEMM_TEST_SANITIZED
namespace {

void count() {
  if (is_counting) ++heap_calls;
}

// Whether this allocation is the one to fail.
bool fails() {
  count();
  if (until_failure == 0 || --until_failure > 0) return false;
  has_failed = true;
  errno = ENOMEM;
  return true;
}

}  // namespace
#endif

}  // namespace bwgemm::test

#if !BWGEMM_TEST_SANITIZED
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

__attribute__((visibility("default"))) void* malloc(std::size_t size) noexcept {
  return bwgemm::test::fails() ? nullptr : __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) noexcept {
  return bwgemm::test::fails() ? nullptr : __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t size) noexcept {
  return bwgemm::test::fails() ? nullptr : __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                           std::size_t size) noexcept {
  return bwgemm::test::fails() ? nullptr : __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, std::size_t alignment,
                                                          std::size_t size) noexcept {
  *memory = bwgemm::test::fails() ? nullptr : __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
__attribute__((visibility("default"))) void free(void* memory) noexcept {
  bwgemm::test::count();
  __libc_free(memory);
}

}  // extern "C"
#endif
