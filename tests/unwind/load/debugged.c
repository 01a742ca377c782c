// Enough debug data that every compressor makes it smaller.
#define FUNCTION(n)                                                          \
  __attribute__((noinline)) static int function_##n(int first, int second) { \
    int sum_##n = first * n;                                                 \
    for (int i = 0; i < second; ++i) sum_##n += i * n;                       \
    return sum_##n;                                                          \
  }
#define TEN(n)   \
  FUNCTION(n##0) \
  FUNCTION(n##1) \
  FUNCTION(n##2) \
  FUNCTION(n##3) \
  FUNCTION(n##4) \
  FUNCTION(n##5) FUNCTION(n##6) FUNCTION(n##7) FUNCTION(n##8) FUNCTION(n##9)
TEN(1)
TEN(2)
TEN(3)
TEN(4)

int main(int argc, char** argv) {
  (void)argv;
  return function_10(argc, 1) + function_21(argc, 2) + function_32(argc, 3) +
         function_43(argc, 4);
}
