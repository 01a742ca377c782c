// EC-10: rbp, r12 and r14 restored by expressions on rbp, as gcc -mforce-drap
// writes them: each must be evaluated with the rbp of this frame, not with one
// that another rule has already restored.
//
// keeper_rbp, keeper_r12 and keeper_r14 find their CFA by the register in their
// name, and by no other way: a caller of a keeper is in a stack if and only if
// that register was recovered right.

        .text

// void saves_by_expression(void (*callee)(void)): changes all three, calls.
        .globl  saves_by_expression
        .type   saves_by_expression, @function
saves_by_expression:
        .cfi_startproc
        leaq    8(%rsp), %r10
        .cfi_def_cfa r10, 0
        andq    $-32, %rsp
        pushq   -8(%r10)
        pushq   %rbp
        movq    %rsp, %rbp
        .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00  // rbp: expression, breg6 0
        pushq   %r14
        .cfi_escape 0x10, 0x0e, 0x02, 0x76, 0x78  // r14: expression, breg6 -8
        pushq   %r12
        .cfi_escape 0x10, 0x0c, 0x02, 0x76, 0x70  // r12: expression, breg6 -16
        pushq   %r10
        // CFA: expression, breg6 -24, deref
        .cfi_escape 0x0f, 0x03, 0x76, 0x68, 0x06
        subq    $8, %rsp
        movq    $-1, %r12
        movq    $-1, %r14
        call    *%rdi
        addq    $8, %rsp
        popq    %r10
        .cfi_def_cfa r10, 0
        popq    %r12
        popq    %r14
        popq    %rbp
        .cfi_restore r12
        .cfi_restore r14
        .cfi_restore rbp
        leaq    -8(%r10), %rsp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   saves_by_expression, . - saves_by_expression

// A frame of `size` bytes found by \register alone; calls \callee with rdi.
        .macro  keeper register, size, callee
        .globl  keeper_\register
        .type   keeper_\register, @function
keeper_\register:
        .cfi_startproc
        pushq   %\register
        .cfi_def_cfa rsp, 16
        .cfi_offset \register, -16
        movq    %rsp, %\register
        .cfi_def_cfa \register, 16
        subq    $\size, %rsp
        call    \callee
        movq    %\register, %rsp
        popq    %\register
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   keeper_\register, . - keeper_\register
        .endm

        keeper  rbp, 64, saves_by_expression
        keeper  r12, 192, keeper_rbp
        keeper  r14, 576, keeper_r12

        .section .note.GNU-stack, "", @progbits
