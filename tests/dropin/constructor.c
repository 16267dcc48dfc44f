/* SPDX-License-Identifier: Apache-2.0
 * A library whose constructor calls the program (together.c). */
void make_handle(void);

__attribute__((constructor)) static void begin(void) {
  make_handle();
}
