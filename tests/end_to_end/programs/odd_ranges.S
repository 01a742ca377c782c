// EC-17: functions that call spin(iterations), with FDEs beside their own that
// linkers leave behind: empty ones, one of a function that was discarded (which
// begins at 0), a second one of the same range, one that is too long. Those say
// what is not so, but for the second one.

        .section .eh_frame, "a", @progbits
// Version 1, "zR"; addresses relative and of 4 bytes, or absolute and of 8;
// CFA = rsp + 8, the return address at CFA - 8.
        .macro  cie encoding
        .long   2f - 1f
1:      .long   0
        .byte   1
        .string "zR"
        .uleb128 1
        .sleb128 -8
        .uleb128 16
        .uleb128 1
        .byte   \encoding
        .byte   0x0c, 7, 8, 0x90, 1
        .balign 8
2:
        .endm
// CFA = rsp + \cfa_offset. The start is the linker's business if relative.
        .macro  fde_at start, size, cfa_offset
        .long   2f - 1f
1:      .long   . - .Lrelative
        .long   \start - .
        .long   \size
        .uleb128 0
        .byte   0x0e
        .uleb128 \cfa_offset
        .balign 8
2:
        .endm
        .macro  fde_at_zero size, cfa_offset
        .long   2f - 1f
1:      .long   . - .Labsolute
        .quad   0
        .quad   \size
        .uleb128 0
        .byte   0x0e
        .uleb128 \cfa_offset
        .balign 8
2:
        .endm

.Lrelative:
        cie     0x1b
.Labsolute:
        cie     0x00
        fde_at_zero 0, 48
        fde_at_zero 0x4000000000000000, 48
        fde_at  has_empty, 0, 48
        fde_at  .Lin_has_empty, 0, 48
        fde_at  .Lin_has_empty, 0, 48
        fde_at  has_duplicate, .Lhas_duplicate_end-has_duplicate, 32
        fde_at  before_inside, .Linside_end-before_inside, 48

        .text
        .globl  has_empty
        .type   has_empty, @function
has_empty:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
.Lin_has_empty:
        call    spin
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   has_empty, . - has_empty

        .globl  has_duplicate
        .type   has_duplicate, @function
has_duplicate:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        call    spin
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
.Lhas_duplicate_end:
        .cfi_endproc
        .size   has_duplicate, . - has_duplicate

before_inside:
        ret
        .globl  inside
        .type   inside, @function
inside:
        .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        call    spin
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
.Linside_end:
        .cfi_endproc
        .size   inside, . - inside

        .section .note.GNU-stack, "", @progbits
