// A shared library whose functions are mostly static: only foo_run is exported.
#define NOINLINE __attribute__((noinline))

static volatile long sink;

static NOINLINE void foo_leaf(long n) {
  for (long i = 0; i < n; ++i) sink += i * 3;
}

static NOINLINE void foo_middle(long n) {
  foo_leaf(n);
  sink += 1;
}

NOINLINE void foo_run(long n) {
  foo_middle(n + 1);
  sink += 2;
}
