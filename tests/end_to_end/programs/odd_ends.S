// ST-06, ST-08: functions that call spin(iterations) and whose CFI says what is
// not so. Each takes the iterations.

        .text
// No caller, in the middle of a stack.
        .globl  says_no_caller
        .type   says_no_caller, @function
says_no_caller:
        .cfi_startproc
        .cfi_undefined rip
        subq    $8, %rsp
        call    spin
        addq    $8, %rsp
        ret
        .cfi_endproc
        .size   says_no_caller, . - says_no_caller

// A CFA below the stack pointer.
        .globl  says_below
        .type   says_below, @function
says_below:
        .cfi_startproc
        subq    $8, %rsp
        .cfi_def_cfa rsp, -16
        call    spin
        addq    $8, %rsp
        ret
        .cfi_endproc
        .size   says_below, . - says_below

// The caller is this very frame: CFA = SP, and the return address is the word
// that leads back here.
        .globl  says_itself
        .type   says_itself, @function
says_itself:
        .cfi_startproc
        leaq    1f(%rip), %rax
        pushq   %rax
        .cfi_def_cfa rsp, 0
        .cfi_offset rip, 0
        call    spin
1:      addq    $8, %rsp
        ret
        .cfi_endproc
        .size   says_itself, . - says_itself

        .section .note.GNU-stack, "", @progbits
