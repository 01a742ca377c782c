// innie inlined into middle inlined into outie. The marker is in innie's code;
// the lines of the calls are what the test expects: keep them.
#define INLINE static inline __attribute__((always_inline))

volatile long sink;

namespace chain {

INLINE void innie(long n) {
  sink = n * 5;
  __asm__ volatile(".globl innie_marker\ninnie_marker: nop");  // line 11
  sink = n * 7;
}

INLINE void middle(long n) {
  sink = n;
  innie(n + 2);  // line 17
  sink = n;
}

__attribute__((noinline)) void outie(long n) {
  sink = n;
  middle(n + 1);  // line 23
  sink = n;
}

}  // namespace chain

int main(int argc, char**) {
  chain::outie(argc);
  return 0;
}
