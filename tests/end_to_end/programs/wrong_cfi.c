// CR-01: a hot loop in functions with wrong CFI, for every kind of address that
// such CFI may lead to. The program's own SIGSEGV and SIGBUS handler must never
// be called.
//
// wrong_cfi [iterations per value and function]
// Prints the faults that its handler saw; exit status 3 if there were any.

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

void spin_cfa_in_rbx(uint64_t value, uint64_t iterations);
void spin_cfa_at_rbx(uint64_t value, uint64_t iterations);
void chain_through_rbp(uint64_t value, uint64_t iterations);

static volatile sig_atomic_t faults;

static void on_fault(int signal_number) {
  (void)signal_number;
  static const char text[] = "fault delivered to the program's handler\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(5);
  faults = 1;
  _exit(3);
}

// A readable page between two pages that are not: returns its address.
static uint64_t guarded_page(void) {
  char* pages =
      mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) exit(4);
  if (mprotect(pages + 4096, 4096, PROT_READ | PROT_WRITE) != 0) exit(4);
  return (uint64_t)(pages + 4096);
}

int main(int argc, char** argv) {
  const uint64_t iterations = (uint64_t)argument(argc, argv, 1, 100e6);
  struct sigaction action = {.sa_handler = on_fault};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);

  const uint64_t page = guarded_page();
  char* unmapped =
      mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(unmapped, 4096);
  const uint64_t values[] = {
      1,
      0xdeadbeef,
      ~0ull,
      0x8000000000000000u,  // not canonical
      (uint64_t)unmapped,
      page - 4096,      // PROT_NONE
      page,             // CFA - 8 is in the PROT_NONE page below
      page + 4096 - 4,  // an eight-byte read crosses into the one above
  };
  for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
    spin_cfa_in_rbx(values[i], iterations);
    spin_cfa_at_rbx(values[i], iterations);
    chain_through_rbp(values[i], iterations);
  }
  printf("faults %d\n", (int)faults);
  report_rusage();
  return 0;
}
