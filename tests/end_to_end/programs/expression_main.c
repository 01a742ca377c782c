// EC-10: main -> keeper_r14 -> keeper_r12 -> keeper_rbp -> saves_by_expression
// -> expression_leaf; see saved_by_expression.S.
//
// expression_main [CPU seconds]

#include "burn.h"

void keeper_r14(void (*callee)(void));

static NOINLINE void expression_leaf(void) { burn(10 * kBurnChunk); }

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 2);
  while (thread_cpu_seconds() < seconds) keeper_r14(expression_leaf);
  printf("done\n");
  report_rusage();
  return 0;
}
