# A .debug_frame with what compilers write and what the format allows besides:
# versions 1, 3 and 4, the 64-bit format, a zero range, DW_CFA_set_loc,
# empty entries. Nothing needs a relocation.
	.text
	.globl	function
	.type	function, @function
function:
	.skip	64, 0x90
	.size	function, .-function

	.section	.debug_frame, "", @progbits
section:

cie_v1:
	.long	1f - 0f
0:	.long	0xffffffff
	.byte	1
	.asciz	""
	.uleb128 1
	.sleb128 -8
	.byte	16
	.byte	0x0c, 7, 8			# def_cfa rsp, 8
	.byte	0x90, 1				# offset rip, cfa-8
	.balign	8
1:
	.long	1f - 0f
0:	.long	cie_v1 - section
	.quad	0x1000
	.quad	0x20
	.byte	0x41, 0x0e, 16, 0x86, 2		# push rbp
	.byte	0x43, 0x0d, 6			# mov rsp, rbp
	.byte	0x01
	.quad	0x101f				# set_loc
	.byte	0x0c, 7, 8, 0xc6
	.balign	8
1:
	.long	0				# empty: nothing ends here
	.long	0
	.long	0
cie_v3:
	.long	1f - 0f
0:	.long	0xffffffff
	.byte	3
	.asciz	""
	.uleb128 4				# code alignment
	.sleb128 -4				# data alignment
	.uleb128 16
	.byte	0x0c, 7, 8
	.byte	0x90, 2
	.balign	8
1:
	.long	1f - 0f
0:	.long	cie_v3 - section
	.quad	0x2000
	.quad	0				# a discarded function's
	.byte	0x41, 0x0e, 16
	.balign	8
1:
cie_v4_64bit:
	.long	0xffffffff
	.quad	1f - 0f
0:	.quad	0xffffffffffffffff
	.byte	4
	.asciz	""
	.byte	8, 0				# address and segment size
	.uleb128 1
	.sleb128 -8
	.uleb128 16
	.byte	0x0c, 7, 8
	.byte	0x90, 1
	.balign	8
1:
	.long	0xffffffff
	.quad	1f - 0f
0:	.quad	cie_v4_64bit - section
	.quad	0x3000
	.quad	0x80
	.byte	0x02, 0x40, 0x0e, 24
	.byte	0x0f, 3, 0x77, 8, 6		# def_cfa_expression
	.balign	8
1:
	.long	1f - 0f
0:	.long	cie_v1 - section		# an older CIE again
	.quad	0x1040
	.quad	0x10
	.byte	0x44, 0x0e, 32
	.balign	8
1:

	.section	.note.GNU-stack, "", @progbits
