// Functions of identical code, for linkers that fold them, and an alias. Each
// definition begins on a line of its own: names and lines can be compared.

namespace {

template <int kRound>
[[gnu::noinline]] long a_template(long x) {
  for (long i = 0; i < x; ++i) __asm__ volatile("" : "+r"(x));
  return x;
}

[[gnu::noinline]] long a_local(long x) {
  for (long i = 0; i < x; ++i) __asm__ volatile("" : "+r"(x));
  return x;
}

}  // namespace

extern "C" {

[[gnu::noinline, gnu::weak]] long a_weak(long x) {
  for (long i = 0; i < x; ++i) __asm__ volatile("" : "+r"(x));
  return x;
}

[[gnu::noinline]] long z_global(long x) {
  for (long i = 0; i < x; ++i) __asm__ volatile("" : "+r"(x));
  return x;
}

[[gnu::noinline]] long longer_global(long x) {
  for (long i = 0; i < x; ++i) __asm__ volatile("" : "+r"(x));
  return x;
}

[[gnu::alias("longer_global")]] long alias(long x);
}

int main(int argc, char**) {
  const long sum = a_template<1>(argc) + a_template<2>(argc) + a_local(argc) +
                   a_weak(argc) + z_global(argc) + longer_global(argc) +
                   alias(argc);
  return sum == 0;
}
