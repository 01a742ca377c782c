# Symbols as hand-written assembly and version scripts leave them. Each address
# that the test asks about has a label of its own, local_….
        .text
        .globl  main
        .type   main, @function
main:
        .cfi_startproc
        xorl    %eax, %eax
        ret
        .cfi_endproc
        .size   main, .-main

# As glibc has its signal trampoline: the FDE begins a byte before it.
        .cfi_startproc
        nop
        .globl  trampoline
        .type   trampoline, @function
trampoline:
        ret
        .cfi_endproc
        .size   trampoline, .-trampoline

# Three names for one range: global before weak before local.
        .type   a_local, @function
        .weak   a_weak
        .type   a_weak, @function
        .globl  longer_global, z_global
        .type   longer_global, @function
        .type   z_global, @function
a_local:
a_weak:
longer_global:
z_global:
        .cfi_startproc
        nop
        nop
        ret
        .cfi_endproc
        .size   a_local, .-a_local
        .size   a_weak, .-a_weak
        .size   longer_global, .-longer_global
        .size   z_global, .-z_global

# No size, but an FDE: believed to the end of the FDE.
        .globl  unsized_with_fde
        .type   unsized_with_fde, @function
unsized_with_fde:
        .cfi_startproc
        nop
.Lin_unsized_with_fde:
        nop
        ret
        .cfi_endproc

# No symbol, but an FDE: the symbol above must not reach it.
.Lnameless:
        .cfi_startproc
        nop
.Lin_nameless:
        nop
        ret
        .cfi_endproc

# No size and no FDE: believed up to the next symbol.
        .globl  unsized_bare
unsized_bare:
        nop
.Lin_unsized_bare:
        ret

        .globl  sized
        .type   sized, @function
sized:
        .cfi_startproc
        nop
        ret
        .cfi_endproc
        .size   sized, .-sized
# Behind `sized`, covered by nothing.
        nop
.Lin_gap:
        nop

# Where those labels are, for the test.
        .section .rodata.places, "a", @progbits
        .globl  places
        .type   places, @object
places:
        .long   .Lin_unsized_with_fde - main
        .long   .Lnameless - main
        .long   .Lin_nameless - main
        .long   .Lin_unsized_bare - main
        .long   .Lin_gap - main
        .size   places, .-places
        .section .note.GNU-stack, "", @progbits
