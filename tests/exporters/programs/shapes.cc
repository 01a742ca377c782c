#include "shapes.h"

namespace shapes {

volatile long sink;

namespace {

struct Counter {
  long total = 0;
  __attribute__((noinline)) void Add(const Square& square) {
    total += square.Area();
  }
};

}  // namespace

long Square::Grow(long by) {
  side_ += Scaled(by, 3L);
  return Area();
}

long SumOfSquares(long count) {
  Counter counter;
  for (long i = 0; i < count; ++i) {
    Square square(i);
    sink = square.Grow(i);
    counter.Add(square);
  }
  return counter.total;
}

}  // namespace shapes
