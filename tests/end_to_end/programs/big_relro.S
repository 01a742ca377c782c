// DO-03: 10 MB of .data.rel.ro, every word of it a relocation, so that the
// library is mapped long before it is relocated. Linked into churn libraries.

        .hidden big_relro_table
        .globl  big_relro_table
        .section .data.rel.ro, "aw", @progbits
        .balign 8
        .type   big_relro_table, @object
big_relro_table:
        .rept   1310720
        .quad   big_relro_table
        .endr
        .size   big_relro_table, . - big_relro_table

        .section .note.GNU-stack, "", @progbits
