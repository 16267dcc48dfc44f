/* SPDX-License-Identifier: Apache-2.0
 * Stands in front of functions of the C library as a sanitizer does: they work once it has looked
 * them up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

typedef int Look(struct dl_phdr_info* info, size_t size, void* data);

#pragma GCC visibility push(default)
int strcmp(const char* one, const char* other);
int strncmp(const char* one, const char* other, size_t size);
char* strrchr(const char* text, int letter);
int dl_iterate_phdr(Look* look, void* data);
#pragma GCC visibility pop

static int (*next_strcmp)(const char*, const char*);
static int (*next_strncmp)(const char*, const char*, size_t);
static char* (*next_strrchr)(const char*, int);
static int (*next_dl_iterate_phdr)(Look*, void*);

__attribute__((constructor)) static void look_up(void) {
  next_strcmp = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "strcmp");
  next_strncmp = (int (*)(const char*, const char*, size_t))dlsym(RTLD_NEXT, "strncmp");
  next_strrchr = (char* (*)(const char*, int))dlsym(RTLD_NEXT, "strrchr");
  next_dl_iterate_phdr = (int (*)(Look*, void*))dlsym(RTLD_NEXT, "dl_iterate_phdr");
}

int strcmp(const char* one, const char* other) {
  return next_strcmp(one, other);
}

int strncmp(const char* one, const char* other, size_t size) {
  return next_strncmp(one, other, size);
}

char* strrchr(const char* text, int letter) {
  return next_strrchr(text, letter);
}

int dl_iterate_phdr(Look* look, void* data) {
  return next_dl_iterate_phdr(look, data);
}
