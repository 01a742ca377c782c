# In the object file the function begins at 0x20, which is where its FDE's pointer
# lies in .eh_frame: the difference that is stored is 0, and no null pointer.
	.text
	.skip	32, 0x90
function:
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_endproc

	.section	.note.GNU-stack, "", @progbits
