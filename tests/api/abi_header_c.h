/* SPDX-License-Identifier: Apache-2.0
 * What abi_header_c.c tells abi_test.cpp. */
#ifndef BWGEMM_TESTS_API_ABI_HEADER_C_H
#define BWGEMM_TESTS_API_ABI_HEADER_C_H

#ifdef __cplusplus
extern "C" {
#endif

struct AbiValue {
  const char* name;
  long value;
};

extern const struct AbiValue bwgemm_abi_values[];
extern const int bwgemm_abi_value_count;

#ifdef __cplusplus
}
#endif

#endif
