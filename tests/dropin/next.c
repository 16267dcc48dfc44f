/* SPDX-License-Identifier: Apache-2.0
 * A library that stands in front of the C library's getpid, which it finds as the next one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.2.5"
#endif

#pragma GCC visibility push(default)
pid_t getpid(void);
#pragma GCC visibility pop

pid_t getpid(void) {
  static int depth = 0;
  if (++depth > 1) return --depth, -1; /* found itself */
  pid_t (*const next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getpid");
  pid_t (*const of_version)(void) = (pid_t(*)(void))dlvsym(RTLD_NEXT, "getpid", FIRST_VERSION);
  const pid_t found = next != NULL && next == of_version ? -next() : 0;
  --depth;
  return found;
}
