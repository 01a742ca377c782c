# Calls oracle_walk and stops. The oracle restores the general registers; the
# vector registers of the interrupted thread are kept here (Intel SDM vol. 1,
# chapter 13: a zeroed area is a valid one).

  .text
  .globl oracle_walk_entry
  .hidden oracle_walk_entry
  .type oracle_walk_entry, @function
oracle_walk_entry:
  movl $-1, %eax
  movl $-1, %edx
  leaq vector_state(%rip), %rdi
  xsave64 (%rdi)
  call oracle_walk
  movl $-1, %eax
  movl $-1, %edx
  leaq vector_state(%rip), %rdi
  xrstor64 (%rdi)
  int3
  .size oracle_walk_entry, . - oracle_walk_entry

  .bss
  .balign 64
vector_state:
  .skip 16384

  .section .note.GNU-stack, "", @progbits
