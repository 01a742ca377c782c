# Functions whose frames are odd on purpose. `ud2` is where the test's SIGILL
# handler walks; it then goes on behind it.

	.text

# wild_cfa(value): the CFA is where `value` points.
	.globl	wild_cfa
	.type	wild_cfa, @function
wild_cfa:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq	%rdi, %rbx
	.cfi_remember_state
	.cfi_def_cfa %rbx, 0
	ud2
	.cfi_restore_state
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	wild_cfa, .-wild_cfa

# no_caller(): says that there is no caller, in the middle of a stack.
	.globl	no_caller
	.type	no_caller, @function
no_caller:
	.cfi_startproc
	.cfi_undefined %rip
	ud2
	ret
	.cfi_endproc
	.size	no_caller, .-no_caller

# cfa_below_sp(): a CFA that goes down.
	.globl	cfa_below_sp
	.type	cfa_below_sp, @function
cfa_below_sp:
	.cfi_startproc
	.cfi_def_cfa %rsp, -16
	ud2
	ret
	.cfi_endproc
	.size	cfa_below_sp, .-cfa_below_sp

# last_call(): the call is the last instruction that its FDE covers.
	.globl	last_call
	.type	last_call, @function
last_call:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	call	never_returns
	.cfi_endproc
	.globl	last_call_end
last_call_end:
	.size	last_call, .-last_call

# Returns to the caller of last_call.
	.globl	never_returns
	.type	never_returns, @function
never_returns:
	.cfi_startproc
	ud2
	addq	$32, %rsp
	.cfi_def_cfa_offset -24
	ret
	.cfi_endproc
	.size	never_returns, .-never_returns

# first_instruction(): interrupted before anything was done; the function before
# it ends right there.
	.globl	first_instruction
	.type	first_instruction, @function
first_instruction:
	.cfi_startproc
	ud2
	ret
	.cfi_endproc
	.size	first_instruction, .-first_instruction

# Two functions without CFI.
	.globl	no_cfi_leaf
	.type	no_cfi_leaf, @function
no_cfi_leaf:
	ud2
	ret
	.size	no_cfi_leaf, .-no_cfi_leaf

	.globl	no_cfi_frame
	.type	no_cfi_frame, @function
no_cfi_frame:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	movq	$0, (%rsp)
	ud2
	leave
	ret
	.size	no_cfi_frame, .-no_cfi_frame

# call_with_registers(function): calls it with known values in what it must
# preserve: rbx 0xb1, rbp 0xb2, r12 0xc1 … r15 0xc4.
	.globl	call_with_registers
	.type	call_with_registers, @function
call_with_registers:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	pushq	%r12
	.cfi_def_cfa_offset 32
	.cfi_offset %r12, -32
	pushq	%r13
	.cfi_def_cfa_offset 40
	.cfi_offset %r13, -40
	pushq	%r14
	.cfi_def_cfa_offset 48
	.cfi_offset %r14, -48
	pushq	%r15
	.cfi_def_cfa_offset 56
	.cfi_offset %r15, -56
	subq	$8, %rsp
	.cfi_def_cfa_offset 64
	movl	$0xb1, %ebx
	movl	$0xb2, %ebp
	movl	$0xc1, %r12d
	movl	$0xc2, %r13d
	movl	$0xc3, %r14d
	movl	$0xc4, %r15d
	call	*%rdi
	addq	$8, %rsp
	.cfi_def_cfa_offset 56
	popq	%r15
	.cfi_def_cfa_offset 48
	popq	%r14
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r12
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	call_with_registers, .-call_with_registers
	.globl	call_with_registers_end
call_with_registers_end:

	.section	.note.GNU-stack,"",@progbits
