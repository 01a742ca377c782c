// Code of two units that calls, inlines and instantiates across namespaces,
// classes and sections, small enough to be compiled in a test.
#ifndef UNSPOOL_TESTS_EXPORTERS_PROGRAMS_SHAPES_H_
#define UNSPOOL_TESTS_EXPORTERS_PROGRAMS_SHAPES_H_

namespace shapes {

extern volatile long sink;

template <typename T>
inline __attribute__((always_inline)) T Scaled(T value, T factor) {
  sink = static_cast<long>(value);
  // Cold enough that compilers move it away: inlined code in two places.
  if (__builtin_expect(sink == 12345, 0)) {
    for (int i = 0; i < 40; ++i) sink = sink + i * static_cast<long>(factor);
    __builtin_trap();
  }
  return value * factor;
}

class Square {
 public:
  explicit Square(long side) : side_(side) {}
  long Area() const { return Scaled(side_, side_); }
  __attribute__((noinline)) long Grow(long by);

 private:
  long side_;
};

long SumOfSquares(long count);

}  // namespace shapes

#endif  // UNSPOOL_TESTS_EXPORTERS_PROGRAMS_SHAPES_H_
