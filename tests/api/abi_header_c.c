/* SPDX-License-Identifier: Apache-2.0
 * The public header as a C compiler sees it: enumerators and sizes, for abi_test.cpp. */
#include "api/abi_header_c.h"

#include "bwgemm/bwgemm.h"

const struct AbiValue bwgemm_abi_values[] = {
    {"BWGEMM_STATUS_SUCCESS", BWGEMM_STATUS_SUCCESS},
    {"BWGEMM_STATUS_NOT_INITIALIZED", BWGEMM_STATUS_NOT_INITIALIZED},
    {"BWGEMM_STATUS_ALLOC_FAILED", BWGEMM_STATUS_ALLOC_FAILED},
    {"BWGEMM_STATUS_INVALID_VALUE", BWGEMM_STATUS_INVALID_VALUE},
    {"BWGEMM_STATUS_ARCH_MISMATCH", BWGEMM_STATUS_ARCH_MISMATCH},
    {"BWGEMM_STATUS_MAPPING_ERROR", BWGEMM_STATUS_MAPPING_ERROR},
    {"BWGEMM_STATUS_EXECUTION_FAILED", BWGEMM_STATUS_EXECUTION_FAILED},
    {"BWGEMM_STATUS_INTERNAL_ERROR", BWGEMM_STATUS_INTERNAL_ERROR},
    {"BWGEMM_STATUS_NOT_SUPPORTED", BWGEMM_STATUS_NOT_SUPPORTED},
    {"BWGEMM_STATUS_LICENSE_ERROR", BWGEMM_STATUS_LICENSE_ERROR},
    {"BWGEMM_STATUS_NO_DRIVER", BWGEMM_STATUS_NO_DRIVER},
    {"BWGEMM_STATUS_DRIVER_TOO_OLD", BWGEMM_STATUS_DRIVER_TOO_OLD},
    {"BWGEMM_STATUS_NO_DEVICE", BWGEMM_STATUS_NO_DEVICE},
    {"BWGEMM_OP_N", BWGEMM_OP_N},
    {"BWGEMM_OP_T", BWGEMM_OP_T},
    {"BWGEMM_OP_C", BWGEMM_OP_C},
    {"BWGEMM_R_32F", BWGEMM_R_32F},
    {"BWGEMM_R_16F", BWGEMM_R_16F},
    {"BWGEMM_R_16BF", BWGEMM_R_16BF},
    {"BWGEMM_R_8F_E4M3", BWGEMM_R_8F_E4M3},
    {"BWGEMM_R_8F_E5M2", BWGEMM_R_8F_E5M2},
    {"BWGEMM_COMPUTE_32F", BWGEMM_COMPUTE_32F},
    {"BWGEMM_POINTER_MODE_HOST", BWGEMM_POINTER_MODE_HOST},
    {"BWGEMM_POINTER_MODE_DEVICE", BWGEMM_POINTER_MODE_DEVICE},
    {"BWGEMM_DETERMINISM_BITWISE", BWGEMM_DETERMINISM_BITWISE},
    {"sizeof bwgemmStatus_t", sizeof(bwgemmStatus_t)},
    {"sizeof bwgemmOperation_t", sizeof(bwgemmOperation_t)},
    {"sizeof bwgemmDataType_t", sizeof(bwgemmDataType_t)},
    {"sizeof bwgemmComputeType_t", sizeof(bwgemmComputeType_t)},
    {"sizeof bwgemmPointerMode_t", sizeof(bwgemmPointerMode_t)},
    {"sizeof bwgemmDeterminism_t", sizeof(bwgemmDeterminism_t)},
    {"sizeof bwgemmHandle_t", sizeof(bwgemmHandle_t)},
    {"BWGEMM_VERSION_MAJOR", BWGEMM_VERSION_MAJOR}};

const int bwgemm_abi_value_count = sizeof bwgemm_abi_values / sizeof bwgemm_abi_values[0];
