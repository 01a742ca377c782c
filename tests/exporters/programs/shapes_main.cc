#include "shapes.h"

static __attribute__((noinline)) double Half(double value) {
  return shapes::Scaled(value, 0.5) + shapes::Scaled(value, 0.25);
}

__attribute__((section(".text.elsewhere"), noinline)) int Elsewhere(int value) {
  return shapes::Scaled(value, 7) - shapes::Scaled(value + 1, 2);
}

int main(int argc, char**) {
  const double half = Half(static_cast<double>(shapes::SumOfSquares(argc)));
  return static_cast<int>(half) + Elsewhere(argc);
}
