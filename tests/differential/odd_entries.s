# CIEs and FDEs that the format allows and Debian's compilers do not write:
# versions 3 and 4, no augmentation, other pointer encodings and alignment
# factors, DW_CFA_set_loc, a zero range.
	.text
	.globl	function
	.type	function, @function
function:
	.skip	64, 0x90
	.size	function, .-function

	.section	.eh_frame, "a", @progbits

cie_v3:
	.long	1f - 0f
0:	.long	0
	.byte	3
	.asciz	"zR"
	.uleb128 4				# code alignment
	.sleb128 -4				# data alignment
	.uleb128 16
	.uleb128 1
	.byte	0x0c				# sdata8, absolute
	.byte	0x0c, 7, 8			# def_cfa rsp, 8
	.byte	0x90, 2				# offset rip, cfa-8
	.balign	8
1:
	.long	1f - 0f
0:	.long	0b - cie_v3
	.quad	0x1000
	.quad	0x40
	.uleb128 0
	.byte	0x41, 0x0e, 16			# advance 4, def_cfa_offset 16
	.byte	0x01
	.quad	0x1010				# set_loc
	.byte	0x86, 4				# offset rbp, cfa-16
	.balign	8
1:
cie_v4:
	.long	1f - 0f
0:	.long	0
	.byte	4
	.asciz	"zR"
	.byte	8, 0				# address and segment size
	.uleb128 1
	.sleb128 8
	.uleb128 16
	.uleb128 1
	.byte	0x03				# udata4, absolute
	.byte	0x0c, 7, 8
	.byte	0x11, 16, 0x7f			# offset_extended_sf rip, cfa-8
	.balign	8
1:
	.long	1f - 0f
0:	.long	0b - cie_v4
	.long	0x1000
	.long	0
	.uleb128 0
	.balign	8
1:
	.long	1f - 0f
0:	.long	0b - cie_v4
	.long	0x1020
	.long	0x10
	.uleb128 3
	.byte	1, 2, 3				# data that nobody asked for
	.byte	0x42, 0x0e, 24
	.balign	8
1:
cie_plain:
	.long	1f - 0f
0:	.long	0
	.byte	1
	.asciz	""
	.uleb128 1
	.sleb128 -8
	.byte	16
	.byte	0x0c, 6, 16, 0x90, 1
	.balign	8
1:
	.long	1f - 0f
0:	.long	0b - cie_plain
	.quad	0x1030
	.quad	0x10
	.byte	0x0a, 0x41, 0x0c, 7, 8, 0x41, 0x0b
	.balign	8
1:
	.long	0				# terminator

	.section	.note.GNU-stack, "", @progbits
