// Multiplies, divides and compares large numbers by libgmp, whose inner loops
// are assembler code without unwind data.

#include <gmp.h>
#include <stdio.h>

int main(void) {
  mpz_t a, b, c;
  mpz_init(c);
  mpz_init(a);
  mpz_init(b);
  mpz_ui_pow_ui(a, 3, 20000);
  mpz_ui_pow_ui(b, 7, 20000);
  for (int i = 0; i < 1500; ++i) {
    mpz_mul(c, a, b);
    mpz_tdiv_q(c, c, a);
    mpz_gcd(c, c, b);
  }
  printf("%zu\n", mpz_sizeinbase(c, 2));
  return 0;
}
