// 5,000 functions of varied frame layouts. Each takes a pointer to a list of
// functions in rdi, calls the first of them with the rest of the list, and
// returns. All keep the chain of frame pointers; every second one describes its
// CFA by rsp, as code built without frame pointers does, the others by rbp.

        .set    chain_index, 0

// pushes: callee-saved registers saved besides rbp, 0..4; size: of the locals;
// by_rsp: 1 if the CFA is rsp + offset in the body. pushes * 8 + size is a
// multiple of 16, so that rsp is aligned at the call.
        .macro  chain_function pushes, size, by_rsp
        .p2align 4
        .cfi_startproc
77:
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .if     !(\by_rsp)
        .cfi_def_cfa_register rbp
        .endif
        .irp    saved, 1, 2, 3, 4
        .if     (\pushes) >= \saved
        .if     \saved == 1
        pushq   %rbx
        .cfi_offset rbx, -24
        .elseif \saved == 2
        pushq   %r12
        .cfi_offset r12, -32
        .elseif \saved == 3
        pushq   %r13
        .cfi_offset r13, -40
        .else
        pushq   %r14
        .cfi_offset r14, -48
        .endif
        .if     \by_rsp
        .cfi_adjust_cfa_offset 8
        .endif
        .endif
        .endr
        subq    $(\size), %rsp
        .if     \by_rsp
        .cfi_adjust_cfa_offset (\size)
        .endif
        movq    (%rdi), %rax
        addq    $8, %rdi
        call    *%rax
        addq    $(\size), %rsp
        .if     \by_rsp
        .cfi_adjust_cfa_offset -(\size)
        .endif
        .irp    saved, 4, 3, 2, 1
        .if     (\pushes) >= \saved
        .if     \saved == 1
        popq    %rbx
        .elseif \saved == 2
        popq    %r12
        .elseif \saved == 3
        popq    %r13
        .else
        popq    %r14
        .endif
        .if     \by_rsp
        .cfi_adjust_cfa_offset -8
        .endif
        .endif
        .endr
        popq    %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .pushsection .data.rel.ro.chain, "aw", @progbits
        .quad   77b
        .popsection
        .endm

        .section .data.rel.ro.chain, "aw", @progbits
        .globl  unspool_bench_chain_functions
        .hidden unspool_bench_chain_functions
        .balign 8
unspool_bench_chain_functions:

        .text
        .rept   1000
        chain_function 0, (chain_index%31)*16+16, 0
        chain_function 1, (chain_index%29)*16+8, 1
        chain_function 2, (chain_index%23)*16+16, 0
        chain_function 3, (chain_index%19)*16+24, 1
        chain_function 4, (chain_index%17)*16+32, chain_index&1
        .set    chain_index, chain_index + 1
        .endr

// What calls through the procedure linkage table leads to: six bytes of an
// indirect jump, then `push index`, which takes five, then the jump on.
        .p2align 4
        .globl  unspool_bench_stub
        .hidden unspool_bench_stub
unspool_bench_stub:
        .cfi_startproc
        leaq    getppid@PLT(%rip), %rax
        addq    $11, %rax
        ret
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
