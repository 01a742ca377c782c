// spin_without_cfi(frame_pointer, iterations): spins with that value in rbp. No
// unwind data covers it.

        .text
        .globl  spin_without_cfi
        .type   spin_without_cfi, @function
spin_without_cfi:
        pushq   %rbp
        movq    %rdi, %rbp
1:      decq    %rsi
        jnz     1b
        popq    %rbp
        ret
        .size   spin_without_cfi, . - spin_without_cfi

        .section .note.GNU-stack, "", @progbits
