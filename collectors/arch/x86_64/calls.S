// Two ways of calling a function that C++ has none for: arch/calls.h.
// psABI, AMD64 supplement, §3.2 (calls) and §A.2.1 (system calls).

  .text

// int64_t unspool_call_in_child(uint64_t flags, void (*function)(void*),
//                               void* argument)
//
// The child runs on its creator's stack, as vfork's does: the creator waits,
// and the child writes only below what the creator holds.
  .globl unspool_call_in_child
  .hidden unspool_call_in_child
  .type unspool_call_in_child, @function
unspool_call_in_child:
  .cfi_startproc
  mov %rsi, %r8  // the kernel keeps r8 and r9
  mov %rdx, %r9
  xor %esi, %esi  // no other stack
  xor %edx, %edx
  xor %r10d, %r10d
  mov $56, %eax  // SYS_clone
  syscall
  test %rax, %rax
  jz 1f
  ret
1:
  .cfi_undefined %rip
  mov %r9, %rdi
  sub $8, %rsp
  call *%r8
  xor %edi, %edi
  mov $60, %eax  // SYS_exit
  syscall
  hlt
  .cfi_endproc
  .size unspool_call_in_child, . - unspool_call_in_child

// void unspool_call_on_stack(void (*function)(void*), void* argument,
//                            void* stack_top)
//
// Its frame is marked as a signal frame ("S"): there SP may move in any
// direction, which unwinders take for an error elsewhere.
  .globl unspool_call_on_stack
  .hidden unspool_call_on_stack
  .type unspool_call_on_stack, @function
unspool_call_on_stack:
  .cfi_startproc
  .cfi_signal_frame
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsp
  call *%rax
  mov %rbp, %rsp
  pop %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size unspool_call_on_stack, . - unspool_call_on_stack

  .section .note.GNU-stack, "", @progbits
