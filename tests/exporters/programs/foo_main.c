// Calls libfoo through a static function of its own.
#define NOINLINE __attribute__((noinline))

void foo_run(long n);
static volatile long sink;

static NOINLINE void main_static(long n) {
  foo_run(n);
  sink += 1;
}

int main(int argc, char** argv) {
  (void)argv;
  main_static(argc);
  return (int)sink - 1;
}
