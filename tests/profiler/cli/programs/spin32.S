/* A 32-bit program without libc that does nothing: exit(0). */
  .globl _start
_start:
  movl $1, %eax
  xorl %ebx, %ebx
  int $0x80
  .section .note.GNU-stack, "", @progbits
