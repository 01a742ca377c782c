// CR-01: CFI that is wrong by one word for a few instructions, as compilers
// write it; both functions loop there, given a number of iterations. Their
// callers have put where the wrong CFI looks what passes for a caller.

        .text

// clang's branch folding moves the `add` above the branch between two
// epilogues; the note of it stays behind.
        .type   spin_behind_add, @function
spin_behind_add:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset rbx, -16
        pushq   %rax
        .cfi_def_cfa_offset 24
        addq    $8, %rsp
1:      decq    %rdi
        jnz     1b
        testq   %rax, %rax
        je      2f
        popq    %rbx
        .cfi_def_cfa_offset 8
        jmp     never_called
2:
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   spin_behind_add, . - spin_behind_add

// The same with arguments that are pushed: the note of the second comes late.
// The word below the return address is the caller's rbx.
        .type   spin_behind_push, @function
spin_behind_push:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset rbx, -16
        pushq   %rax
1:      decq    %rdi
        jnz     1b
        .cfi_def_cfa_offset 24
        call    never_seen
        addq    $8, %rsp
        .cfi_def_cfa_offset 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   spin_behind_push, . - spin_behind_push

        .type   never_seen, @function
never_seen:
        .cfi_startproc
        ret
        .cfi_endproc
        .size   never_seen, . - never_seen

// A return address that an earlier call has left, and a function's own.
        .type   never_called, @function
never_called:
        .cfi_startproc
        call    never_seen
stale_return_address:
        ret
        .skip   16, 0x90
function_pointer:
        ret
        .cfi_endproc
        .size   never_called, . - never_called

        .globl  call_spin_behind_add
        .type   call_spin_behind_add, @function
call_spin_behind_add:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        leaq    stale_return_address(%rip), %rax
        movq    %rax, (%rsp)
        xorl    %eax, %eax
        call    spin_behind_add
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   call_spin_behind_add, . - call_spin_behind_add

        .globl  call_spin_behind_push
        .type   call_spin_behind_push, @function
call_spin_behind_push:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset rbx, -16
        leaq    function_pointer(%rip), %rbx
        call    spin_behind_push
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   call_spin_behind_push, . - call_spin_behind_push

        .section .note.GNU-stack, "", @progbits
