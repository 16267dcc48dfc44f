/* SPDX-License-Identifier: Apache-2.0
 * A C program that uses the installed library. Needs no GPU: prints what it found. */
#include <bwgemm/bwgemm.h>
#include <stdio.h>

int main(void) {
  bwgemmHandle_t handle = NULL;
  const bwgemmStatus_t status = bwgemmCreate(&handle);
  printf("%d %s\n", bwgemmGetVersion(), bwgemmStatusName(status));
  if (status != BWGEMM_STATUS_SUCCESS) {
    printf("%s\n", bwgemmGetLastErrorString());
    return handle != NULL;
  }
  return bwgemmDestroy(handle) != BWGEMM_STATUS_SUCCESS;
}
