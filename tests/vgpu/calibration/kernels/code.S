/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX of this folder's sources, each a string, for ../device.cpp. */
        .macro embed name
        .balign 64
        .globl bwgemm_calibration_\name
        .hidden bwgemm_calibration_\name
bwgemm_calibration_\name:
        .incbin "\name\().ptx"
        .byte 0
        .endm

        .section .rodata.bwgemm_calibration, "a", @progbits
        embed addresses
        embed boxes
        embed faults
        embed fragments
        embed operands
        embed reserved
        embed sums
        embed transactions
        .section .note.GNU-stack, "", @progbits
