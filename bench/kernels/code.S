/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled kernels of this folder, for bench/code.cpp. */
        .macro embed name, file
        .balign 64
        .globl bwgemm_bench_\name
        .hidden bwgemm_bench_\name
bwgemm_bench_\name:
        .incbin "\file"
        .endm

        .section .rodata.bwgemm_bench, "a", @progbits
        embed tensor_sm_90a, BWGEMM_TENSOR_SM_90A
        embed memory_sm_90a, BWGEMM_MEMORY_SM_90A
        embed memory_sm_100f, BWGEMM_MEMORY_SM_100F
        embed ladder_sm_100f, BWGEMM_LADDER_SM_100F
        embed elementwise_sm_90a, BWGEMM_ELEMENTWISE_SM_90A
        embed elementwise_sm_100f, BWGEMM_ELEMENTWISE_SM_100F
        .section .note.GNU-stack, "", @progbits
