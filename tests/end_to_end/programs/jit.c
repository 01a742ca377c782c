// Runs code that no file holds, with a frame pointer chain, and writes what JIT
// compilers write for profilers: "jit map MS" perf's map, "jit dump MS" a
// jitdump with lines in the current folder.

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

// push rbp; mov rbp, rsp; mov rax, rdi; 1: dec rax; jnz 1b; pop rbp; ret
static const uint8_t kCode[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                0x48, 0xff, 0xc8, 0x75, 0xfb, 0x5d, 0xc3};

static void write_map(const void* code) {
  char path[64];
  snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
  FILE* map = fopen(path, "w");
  if (map == NULL) exit(3);
  fprintf(map, "%lx %zx jit_spin\n", (unsigned long)code, sizeof(kCode));
  fclose(map);
}

// Linux, tools/perf/Documentation/jitdump-specification.txt.
static void write_dump(const void* code) {
  const uint64_t address = (uint64_t)code;
  const uint32_t pid = (uint32_t)getpid();
  const uint32_t header[] = {0x4a695444, 1, 40, EM_X86_64, 0, pid, 0, 0, 0, 0};
  static const char kFile[] = "spin.jit";
  const uint32_t debug[] = {2, 16 + 16 + 16 + sizeof(kFile), 0, 0};
  const uint64_t debug_body[] = {address, 1, address, 42};
  static const char kName[] = "jit_spin";
  const uint32_t load[] = {
      0, 16 + 40 + sizeof(kName) + sizeof(kCode), 0, 0, pid, pid};
  const uint64_t load_body[] = {address, address, sizeof(kCode), 1};
  char path[64];
  snprintf(path, sizeof(path), "jit-%d.dump", getpid());
  FILE* dump = fopen(path, "w");
  if (dump == NULL) exit(3);
  fwrite(header, sizeof(header), 1, dump);
  fwrite(debug, sizeof(debug), 1, dump);
  fwrite(debug_body, sizeof(debug_body), 1, dump);
  fwrite(kFile, sizeof(kFile), 1, dump);
  fwrite(load, sizeof(load), 1, dump);
  fwrite(load_body, sizeof(load_body), 1, dump);
  fwrite(kName, sizeof(kName), 1, dump);
  fwrite(kCode, sizeof(kCode), 1, dump);
  fclose(dump);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 3;
  memcpy(code, kCode, sizeof(kCode));
  if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return 3;
  if (strcmp(argv[1], "map") == 0) {
    write_map(code);
  } else {
    write_dump(code);
  }
  uint64_t (*spin)(uint64_t);
  *(void**)&spin = code;
  for (long rounds = atol(argv[2]); rounds > 0; --rounds) spin(1000000);
  report_rusage();
  return 0;
}
