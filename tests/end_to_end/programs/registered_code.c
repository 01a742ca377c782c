// JT-01: enter_jit() -> code made at run time, without frame pointer ->
// callback(), under an agent that is told of the code:
//
// registered_code none|named|frames|debug_frame|both|churn|frame_pointer|
//   libgcc [CPU seconds]
//
// libgcc: only libgcc is told, which is not in the global scope.
// frame_pointer: code that has one, of which nobody is told.
// churn: one thread registers and unregisters all the time what another runs.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unspool/unspool.h>

#include "burn.h"

// sub rsp, 24; call rdi; add rsp, 24; ret
static const uint8_t kCode[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
                                0x48, 0x83, 0xc4, 0x18, 0xc3};

// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
static const uint8_t kFramePointerCode[sizeof(kCode)] = {
    0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

enum { kDwCfaNop = 0, kDwCfaDefCfaOffset = 0x0e, kDwCfaAdvanceLoc = 0x40 };

// A CIE and an FDE, with absolute addresses: of .eh_frame, with a terminator,
// or of .debug_frame.
struct __attribute__((packed)) frames {
  uint32_t cie_length;
  uint32_t cie_id;
  uint8_t cie[16];
  uint32_t fde_length;
  uint32_t cie_pointer;
  uint64_t start;
  uint64_t size;
  uint8_t instructions[8];
  uint32_t terminator;
};

static double cpu_seconds;
static void* code;
static bool is_over;

static struct frames frames_of(const void* start, bool is_debug_frame) {
  struct frames frames = {
      .cie_length = 4 + 16,
      .cie_id = is_debug_frame ? 0xffffffff : 0,
      // Version 1, no augmentation, alignments 1 and -8, RA 16; CFA = rsp + 8,
      // RA at CFA - 8.
      .cie = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1},
      .fde_length = 4 + 8 + 8 + 8,
      .cie_pointer = is_debug_frame ? 0 : offsetof(struct frames, cie_pointer),
      .start = (uint64_t)start,
      .size = sizeof(kCode),
      .instructions = {kDwCfaAdvanceLoc | 4, kDwCfaDefCfaOffset, 32,
                       kDwCfaAdvanceLoc | 6, kDwCfaDefCfaOffset, 8, kDwCfaNop,
                       kDwCfaNop},
      .terminator = 0};
  return frames;
}

static NOINLINE void callback(void) {
  volatile uint64_t sink = burn(kBurnChunk);
  (void)sink;
}

static NOINLINE int enter_jit(void) {
  int rounds = 0;
  void (*run)(void (*)(void));
  *(void**)&run = code;
  for (; thread_cpu_seconds() < cpu_seconds; ++rounds) run(&callback);
  return rounds;
}

static void* churn(void* unused) {
  (void)unused;
  __typeof__(&unspool_register_frames) add =
      dlsym(RTLD_DEFAULT, "unspool_register_frames");
  __typeof__(&unspool_unregister_frames) take =
      dlsym(RTLD_DEFAULT, "unspool_unregister_frames");
  for (int i = 0; add != NULL && !__atomic_load_n(&is_over, __ATOMIC_RELAXED);
       ++i) {
    // Each time elsewhere, and gone after.
    struct frames* frames = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (frames == MAP_FAILED) abort();
    *frames = frames_of(code, false);
    const int handle = add(frames, sizeof(*frames), UNSPOOL_FRAMES_EH_FRAME);
    if (handle <= 0) break;  // 262,143 times
    if (take(handle) != 0 || munmap(frames, 4096) != 0) abort();
  }
  return NULL;
}

static void tell_libgcc(void) {
  void* libgcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
  if (libgcc == NULL) exit(4);
  // As a library that is linked with libgcc is bound: who comes first.
  void (*add)(void*) = (void (*)(void*))dlsym(RTLD_DEFAULT, "__register_frame");
  if (add == NULL) add = (void (*)(void*))dlsym(libgcc, "__register_frame");
  void (*take)(void*) =
      (void (*)(void*))dlsym(RTLD_DEFAULT, "__deregister_frame");
  if (take == NULL) {
    take = (void (*)(void*))dlsym(libgcc, "__deregister_frame");
  }
  static struct frames frames;
  frames = frames_of(code, false);
  add(&frames);
  take(&frames);  // aborts where libgcc was not told before
  add(&frames);
  void* bases[3];
  const void* (*find)(void*, void*) =
      (const void* (*)(void*, void*))dlsym(libgcc, "_Unwind_Find_FDE");
  if (find == NULL || find((char*)code + 4, bases) == NULL) exit(5);
}

static void register_code(const char* mode) {
  if (strcmp(mode, "libgcc") == 0) tell_libgcc();
  __typeof__(&unspool_register_code) name =
      dlsym(RTLD_DEFAULT, "unspool_register_code");
  __typeof__(&unspool_register_frames) add =
      dlsym(RTLD_DEFAULT, "unspool_register_frames");
  if (name == NULL || add == NULL) return;
  const bool is_debug_frame = strcmp(mode, "debug_frame") == 0;
  static struct frames frames;
  frames = frames_of(code, is_debug_frame);
  if (strcmp(mode, "named") == 0 || strcmp(mode, "both") == 0) {
    // The first name is not the last.
    if (name(code, sizeof(kCode), "old_name") != 0 ||
        name(code, sizeof(kCode), "jit thunk(int)") != 0) {
      abort();
    }
  }
  if (is_debug_frame || strcmp(mode, "frames") == 0 ||
      strcmp(mode, "both") == 0) {
    const size_t size = sizeof(frames) - (is_debug_frame ? 4 : 0);
    if (add(&frames, size,
            is_debug_frame ? UNSPOOL_FRAMES_DEBUG_FRAME
                           : UNSPOOL_FRAMES_EH_FRAME) <= 0) {
      abort();
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  cpu_seconds = argument(argc, argv, 2, 1);
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
  if (code == MAP_FAILED) return 3;
  const bool has_frame_pointer = strcmp(argv[1], "frame_pointer") == 0;
  memcpy(code, has_frame_pointer ? kFramePointerCode : kCode, sizeof(kCode));
  if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return 3;
  register_code(argv[1]);
  pthread_t thread;
  const bool churns = strcmp(argv[1], "churn") == 0;
  if (churns && pthread_create(&thread, NULL, &churn, NULL) != 0) return 3;
  printf("done %d\n", enter_jit() > 0);
  __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
  if (churns) pthread_join(thread, NULL);
  report_rusage();
  return 0;
}
