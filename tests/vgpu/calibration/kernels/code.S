/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled kernels of this folder, for ../device.cpp. */
        .macro embed name, file
        .balign 64
        .globl bwgemm_calibration_\name
        .hidden bwgemm_calibration_\name
bwgemm_calibration_\name:
        .incbin "\file"
        .endm

        .section .rodata.bwgemm_calibration, "a", @progbits
        embed addresses, BWGEMM_ADDRESSES
        embed boxes, BWGEMM_BOXES
        embed faults, BWGEMM_FAULTS
        embed fragments, BWGEMM_FRAGMENTS
        embed operands, BWGEMM_OPERANDS
        embed reserved, BWGEMM_RESERVED
        embed sums, BWGEMM_SUMS
        embed transactions, BWGEMM_TRANSACTIONS
        .section .note.GNU-stack, "", @progbits
