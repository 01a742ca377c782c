// before_first ends where first_slow begins, with a call that does not return;
// first_slow's first instruction takes nearly all of the time.

        .text
        .globl  before_first
        .type   before_first, @function
before_first:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        call    abort
        .cfi_endproc
        .size   before_first, . - before_first

        .globl  first_slow
        .type   first_slow, @function
first_slow:
        .cfi_startproc
        lock incq (%rdi)
        ret
        .cfi_endproc
        .size   first_slow, . - first_slow

        .section .note.GNU-stack, "", @progbits
