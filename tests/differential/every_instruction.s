# Each call-frame instruction and each DWARF operation that CFI may use, most of
# which compilers hardly ever write. Operands differ so that a mix-up shows.
# With ALTERED defined one offset is another one: compare_test.py's proof that a
# difference is seen. With DEBUG_FRAME defined it is in .debug_frame, too.
.ifdef DEBUG_FRAME
	.cfi_sections .eh_frame, .debug_frame
.endif
	.text
	.globl	every_instruction
	.type	every_instruction, @function
every_instruction:
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
.ifdef ALTERED
	.cfi_offset rbx, -24
.else
	.cfi_offset rbx, -16
.endif
	nop
	.cfi_def_cfa_register rbp
	.cfi_restore rbx
	nop
	.cfi_remember_state
	.cfi_escape 0x14, 3, 2			# val_offset rbx
	nop
	.cfi_remember_state
	.cfi_escape 0x15, 12, 0x7e		# val_offset_sf r12
	nop
	.cfi_escape 0x11, 13, 0x7d		# offset_extended_sf r13
	nop
	.cfi_restore_state
	nop
	.cfi_restore_state
	.cfi_escape 0x12, 6, 0x7c		# def_cfa_sf rbp
	nop
	.cfi_escape 0x13, 0x7b			# def_cfa_offset_sf
	nop
	.cfi_escape 0x05, 14, 4			# offset_extended r14
	.cfi_escape 0x05, 15, 5
	nop
	.cfi_escape 0x06, 14			# restore_extended r14
	.cfi_same_value r15
	.cfi_register rip, rdx
	nop
	.cfi_escape 0x2f, 3, 6			# GNU_negative_offset_extended
	.cfi_escape 0x2e, 0x20			# GNU_args_size
	nop
	.cfi_escape 0x16, 3, 2, 0x77, 8		# val_expression rbx
	.cfi_escape 0x10, 17, 2, 0x77, 0x78	# expression xmm0
	.cfi_escape 0x05, 49, 1			# offset_extended rflags
	.cfi_escape 0x05, 60, 1			# a register without a name
	nop
	.cfi_escape 0x0f, 26, 0x08, 200, 0x09, 201, 0x0a, 1, 202, 0x0b, 2, 203
	.cfi_escape 0x0c, 1, 2, 3, 204, 0x0d, 1, 2, 3, 205
	.cfi_escape 0x10, 0x80, 1, 0x11, 0x81, 0x7f
	nop
	.cfi_escape 0x0f, 27
	.cfi_escape 0x0e, 1, 2, 3, 4, 5, 6, 7, 206, 0x0f, 1, 2, 3, 4, 5, 6, 7, 207
	.cfi_escape 0x03, 1, 2, 3, 4, 5, 6, 7, 8
	nop
	.cfi_escape 0x0f, 20, 0x06, 0x12, 0x13, 0x14, 0x15, 3, 0x16, 0x17, 0x19
	.cfi_escape 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x23, 8
	nop
	.cfi_escape 0x0f, 28, 0x24, 0x25, 0x26, 0x27, 0x28, 1, 0, 0x29, 0x2a, 0x2b
	.cfi_escape 0x2c, 0x2d, 0x2e, 0x2f, 0xff, 0xff, 0x30, 0x4f, 0x70, 8
	.cfi_escape 0x8f, 0x78, 0x92, 16, 0x78, 0x94, 4, 0x96
	nop
	.cfi_escape 0x0d, 3			# def_cfa_register back from an expression
	nop
	.cfi_escape 0x0f, 2, 0x76, 8
	.cfi_escape 0x0e, 32			# def_cfa_offset in the middle of one
	nop
	.cfi_escape 0x0a			# remember_state keeps that offset
	.cfi_escape 0x0c, 7, 48			# def_cfa rsp
	nop
	.cfi_escape 0x0b			# restore_state
	nop
	.cfi_escape 0x0d, 12			# def_cfa_register r12: offset 32
	nop
	.cfi_escape 0x0c, 7, 8
	.cfi_escape 0x02, 1			# advance_loc1
	.cfi_undefined rip
	.cfi_escape 0x03, 2, 0			# advance_loc2
	.cfi_escape 0x04, 3, 0, 0, 0		# advance_loc4
	.cfi_escape 0x1d, 4, 0, 0, 0, 0, 0, 0, 0	# MIPS_advance_loc8
	.skip	11
	nop
	.cfi_endproc
	.size	every_instruction, .-every_instruction

	.type	signal_frame, @function
signal_frame:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_personality 0x9b, personality
	.cfi_lsda 0x1b, personality
	nop
	.cfi_adjust_cfa_offset 8
	nop
	.cfi_endproc
	.size	signal_frame, .-signal_frame

	.data
	.hidden	personality
	.globl	personality
personality:
	.quad	0

	.section	.note.GNU-stack, "", @progbits
