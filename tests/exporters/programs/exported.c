// Stripped, only `exported` keeps its name.
#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

static NOINLINE void hidden_first(long n) { sink += n * 3; }

static NOINLINE void hidden_second(long n) {
  hidden_first(n);
  sink += n * 5;
}

NOINLINE void exported(long n) {
  hidden_second(n);
  sink += n * 7;
}

int main(int argc, char** argv) {
  (void)argv;
  exported(argc);
  return 0;
}
