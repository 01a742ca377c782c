// Functions with odd frames: odd_frames.s, realigned_stack.cc.

#ifndef UNSPOOL_TESTS_UNWIND_ODD_FRAMES_H_
#define UNSPOOL_TESTS_UNWIND_ODD_FRAMES_H_

#include <cstdint>

extern "C" {

void wild_cfa(uint64_t cfa);
void no_caller();
void cfa_below_sp();
void last_call();
extern const char last_call_end[];
void never_returns();
void first_instruction();
void no_cfi_leaf();
void no_cfi_frame();
void call_with_registers(void (*function)());
extern const char call_with_registers_end[];

extern void (*realigned_callback)();
void call_realigned();
}

#endif  // UNSPOOL_TESTS_UNWIND_ODD_FRAMES_H_
