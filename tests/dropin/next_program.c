/* SPDX-License-Identifier: Apache-2.0
 * A program that sees getpid of next.c. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  printf("%s\n", getpid() == -(pid_t)syscall(SYS_getpid) ? "next" : "not the next");
  return 0;
}
