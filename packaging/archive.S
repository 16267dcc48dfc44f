/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel archive (packaging/pack_archive.py) as read-only data of the library. */
        .section .rodata.bwgemm_archive, "a", @progbits
        .balign 64
        .globl bwgemm_archive_begin
        .hidden bwgemm_archive_begin
        .type bwgemm_archive_begin, @object
bwgemm_archive_begin:
        .incbin BWGEMM_ARCHIVE
        .globl bwgemm_archive_end
        .hidden bwgemm_archive_end
        .type bwgemm_archive_end, @object
bwgemm_archive_end:
        .size bwgemm_archive_begin, bwgemm_archive_end - bwgemm_archive_begin
        .section .note.GNU-stack, "", @progbits
