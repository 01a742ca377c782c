// A library with one function of a chain (bench/unwind/chain.h), and 200 that
// make its unwind data of a usual size.

        .text
        .macro  nothing
        .p2align 4
        .cfi_startproc
        ret
        .cfi_endproc
        .endm

        .rept   200
        nothing
        .endr

        .globl  unspool_bench_link
        .type   unspool_bench_link, @function
        .p2align 4
unspool_bench_link:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        subq    $32, %rsp
        .cfi_def_cfa_offset 48
        movq    (%rdi), %rax
        addq    $8, %rdi
        call    *%rax
        addq    $32, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
