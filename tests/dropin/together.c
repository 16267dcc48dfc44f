/* SPDX-License-Identifier: Apache-2.0
 * Two threads that make their first handles of cuBLAS. One is held where the library looks up the
 * function that the program's second argument names. The other is then inside the dynamic linker,
 * as it makes its handle in the constructor of a library (constructor.c), which the first argument
 * names. Prints cuBLAS's status of both. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "dropin/cublas_abi.h"

#pragma GCC visibility push(default)
void* dlsym(void* handle, const char* name);
void make_handle(void);
#pragma GCC visibility pop

enum { nobody, held, released };
static _Atomic int state = nobody;
static const char* where = "";
static cublasStatus_t of_constructor = (cublasStatus_t)-1, of_thread = (cublasStatus_t)-1;

/* Stands in front of the library's, which calls it. */
void* dlsym(void* handle, const char* name) {
  void* (*const next)(void*, const char*) =
      (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  int expected = nobody;
  if (strcmp(name, where) == 0 && atomic_compare_exchange_strong(&state, &expected, held))
    while (state != released) sched_yield();
  return next(handle, name);
}

void make_handle(void) {
  cublasHandle_t handle = NULL;
  state = released;
  of_constructor = cublasCreate_v2(&handle);
}

static void* first(void* nothing) {
  cublasHandle_t handle = NULL;
  of_thread = cublasCreate_v2(&handle);
  return nothing;
}

int main(int count, char** arguments) {
  pthread_t thread;
  if (count != 3) return 2;
  where = arguments[2];
  if (pthread_create(&thread, NULL, first, NULL) != 0) return 2;
  while (state == nobody) sched_yield();
  if (dlopen(arguments[1], RTLD_NOW) == NULL) return 2;
  pthread_join(thread, NULL);
  printf("%d %d\n", (int)of_constructor, (int)of_thread);
  return 0;
}
