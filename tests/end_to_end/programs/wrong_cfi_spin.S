// CR-01: functions whose CFI is formally right and wrong in fact. Each takes
// the value that its CFI will look at and a number of iterations.

        .text

// CFA = rbx + 0: the return address is said to be at rbx - 8.
        .globl  spin_cfa_in_rbx
        .type   spin_cfa_in_rbx, @function
spin_cfa_in_rbx:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa rbx, 0
        movq    %rdi, %rbx
1:      decq    %rsi
        jnz     1b
        popq    %rbx
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   spin_cfa_in_rbx, . - spin_cfa_in_rbx

// CFA = *(rbx): the expression itself reads memory.
        .globl  spin_cfa_at_rbx
        .type   spin_cfa_at_rbx, @function
spin_cfa_at_rbx:
        .cfi_startproc
        pushq   %rbx
        // DW_CFA_def_cfa_expression, 3 bytes: DW_OP_breg3 0, DW_OP_deref
        .cfi_escape 0x0f, 0x03, 0x73, 0x00, 0x06
        movq    %rdi, %rbx
1:      decq    %rsi
        jnz     1b
        popq    %rbx
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   spin_cfa_at_rbx, . - spin_cfa_at_rbx

// CFA is right, and so is the return address; rbp is said to be restored from
// rbx, and the caller (chain_through_rbp) finds its CFA by rbp.
        .globl  spin_rbp_from_rbx
        .type   spin_rbp_from_rbx, @function
spin_rbp_from_rbx:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa rsp, 16
        .cfi_register rbp, rbx
        movq    %rdi, %rbx
1:      decq    %rsi
        jnz     1b
        popq    %rbx
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   spin_rbp_from_rbx, . - spin_rbp_from_rbx

        .globl  chain_through_rbp
        .type   chain_through_rbp, @function
chain_through_rbp:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa rsp, 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa rbp, 16
        call    spin_rbp_from_rbx
        popq    %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   chain_through_rbp, . - chain_through_rbp

        .section .note.GNU-stack, "", @progbits
