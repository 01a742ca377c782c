// JT-01: a compiler at run time that tells GDB of its code (GDB manual, "JIT
// Compilation Interface"): main -> enter_jit -> jit_outer_N -> jit_inner_N ->
// callback_N, where code and unwind data of each N are in an image of their
// own.
//
// jit_objects OBJECT eh_frame|debug_frame|none|churn|many [CPU seconds]
//   OBJECT: jit_function.c's.  eh_frame: relocatable, unwind data loaded, as
//   LLVM has it.  debug_frame: linked, unwind data in the image, as QEMU has
//   it. churn: image 2 takes the place of image 1, and back, in the same
//   memory. many: 300 images.

#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

struct jit_code_entry {
  struct jit_code_entry* next_entry;
  struct jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  struct jit_code_entry* relevant_entry;
  struct jit_code_entry* first_entry;
};

enum { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, NULL, NULL};
NOINLINE void __jit_debug_register_code(void) { __asm__ volatile(""); }

static void tell(struct jit_code_entry* entry, uint32_t action) {
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
}

static void register_entry(struct jit_code_entry* entry) {
  entry->prev_entry = NULL;
  entry->next_entry = __jit_debug_descriptor.first_entry;
  if (entry->next_entry != NULL) entry->next_entry->prev_entry = entry;
  __jit_debug_descriptor.first_entry = entry;
  tell(entry, JIT_REGISTER_FN);
}

static void unregister_entry(struct jit_code_entry* entry) {
  if (entry->prev_entry != NULL) {
    entry->prev_entry->next_entry = entry->next_entry;
  } else {
    __jit_debug_descriptor.first_entry = entry->next_entry;
  }
  if (entry->next_entry != NULL) {
    entry->next_entry->prev_entry = entry->prev_entry;
  }
  tell(entry, JIT_UNREGISTER_FN);
}

typedef int (*jit_function)(void (*callback)(void), int size);

struct object {
  struct jit_code_entry entry;
  char* image;
  char* code;
  jit_function run;
};

static char* file;
static size_t file_size;
static bool is_linked;   // debug_frame
static bool has_frames;  // not none

static Elf64_Shdr* section(char* image, int index) {
  return (Elf64_Shdr*)(image + ((Elf64_Ehdr*)image)->e_shoff) + index;
}

static int section_count(const char* image) {
  return ((const Elf64_Ehdr*)image)->e_shnum;
}

// Where a section's bytes are that relocations change.
static char* bytes_of(char* image, const Elf64_Shdr* header) {
  return header->sh_addr != 0 ? (char*)header->sh_addr
                              : image + header->sh_offset;
}

static void relocate(char* image, const Elf64_Shdr* relocations) {
  Elf64_Shdr* target = section(image, (int)relocations->sh_info);
  const bool is_debug = (target->sh_flags & SHF_ALLOC) == 0;
  if (is_debug && !is_linked) return;
  const Elf64_Shdr* table = section(image, (int)relocations->sh_link);
  const Elf64_Sym* symbols = (Elf64_Sym*)(image + table->sh_offset);
  const Elf64_Rela* rela = (Elf64_Rela*)(image + relocations->sh_offset);
  for (size_t i = 0; i < relocations->sh_size / sizeof(*rela); ++i) {
    const Elf64_Sym* symbol = &symbols[ELF64_R_SYM(rela[i].r_info)];
    char* place = bytes_of(image, target) + rela[i].r_offset;
    const uint64_t value = section(image, symbol->st_shndx)->sh_addr +
                           symbol->st_value + (uint64_t)rela[i].r_addend;
    const uint32_t relative = (uint32_t)(value - (uint64_t)place);
    const uint32_t low = (uint32_t)value;
    switch (ELF64_R_TYPE(rela[i].r_info)) {
      case R_X86_64_64:
        memcpy(place, &value, sizeof(value));
        break;
      case R_X86_64_32:  // of CIEs, from the section's start
        memcpy(place, &low, sizeof(low));
        break;
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        memcpy(place, &relative, sizeof(relative));
        break;
      default:
        abort();
    }
  }
}

// As a linker would leave them: symbols with addresses.
static void link_symbols(char* image, const Elf64_Shdr* table) {
  Elf64_Sym* symbols = (Elf64_Sym*)(image + table->sh_offset);
  for (size_t i = 0; i < table->sh_size / sizeof(*symbols); ++i) {
    if (symbols[i].st_shndx < section_count(image)) {
      symbols[i].st_value += section(image, symbols[i].st_shndx)->sh_addr;
    }
  }
  ((Elf64_Ehdr*)image)->e_type = ET_EXEC;
}

static jit_function find_function(char* image, const char* name) {
  for (int i = 1; i < section_count(image); ++i) {
    const Elf64_Shdr* table = section(image, i);
    if (table->sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym* symbols = (Elf64_Sym*)(image + table->sh_offset);
    const char* names = image + section(image, (int)table->sh_link)->sh_offset;
    for (size_t k = 0; k < table->sh_size / sizeof(*symbols); ++k) {
      if (strcmp(names + symbols[k].st_name, name) != 0) continue;
      const uint64_t base =
          is_linked ? 0 : section(image, symbols[k].st_shndx)->sh_addr;
      jit_function function;
      *(void**)&function = (void*)(base + symbols[k].st_value);
      return function;
    }
  }
  abort();
}

// Copies the sections of the image into the object's memory for code.
static void load_sections(char* image, char* code) {
  size_t used = 0;
  for (int i = 1; i < section_count(image); ++i) {
    Elf64_Shdr* header = section(image, i);
    if ((header->sh_flags & SHF_ALLOC) == 0 || header->sh_size == 0 ||
        header->sh_type == SHT_NOTE) {
      continue;
    }
    header->sh_addr = (uint64_t)code + used;
    if (header->sh_type != SHT_NOBITS) {
      memcpy(code + used, image + header->sh_offset, header->sh_size);
    }
    used += (header->sh_size + 63) & ~63ul;
    if (used > 4096) abort();
  }
}

// Makes image `number`, whose functions are called so, in the object's memory.
static void make(struct object* object, int number) {
  memcpy(object->image, file, file_size);
  char* image = object->image;
  for (size_t i = 0; i + 12 < file_size; ++i) {
    if (memcmp(image + i, "jit_outer_1", 12) == 0 ||
        memcmp(image + i, "jit_inner_1", 12) == 0) {
      image[i + 10] = (char)('0' + number);
    }
  }
  if (mprotect(object->code, 4096, PROT_READ | PROT_WRITE) != 0) abort();
  load_sections(image, object->code);
  for (int i = 1; i < section_count(image); ++i) {
    if (section(image, i)->sh_type == SHT_RELA) {
      relocate(image, section(image, i));
    }
  }
  for (int i = 1; is_linked && i < section_count(image); ++i) {
    if (section(image, i)->sh_type == SHT_SYMTAB) {
      link_symbols(image, section(image, i));
    }
  }
  if (mprotect(object->code, 4096, PROT_READ | PROT_EXEC) != 0) abort();
  char name[] = "jit_outer_1";
  name[10] = (char)('0' + number);
  object->run = find_function(image, name);
  object->entry.symfile_addr = image;
  object->entry.symfile_size = file_size;
}

static NOINLINE void callback_1(void) {
  volatile uint64_t sink = burn(kBurnChunk);
  (void)sink;
}

static NOINLINE void callback_2(void) {
  volatile uint64_t sink = burn(kBurnChunk + 1);
  (void)sink;
}

static NOINLINE int enter_jit(jit_function run, int number, int size) {
  return run(number == 1 ? &callback_1 : &callback_2, size) + 1;
}

static void map_object(struct object* object) {
  object->image = mmap(NULL, file_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  object->code = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (object->image == MAP_FAILED || object->code == MAP_FAILED) abort();
}

static void read_file(const char* path) {
  const int fd = open(path, O_RDONLY);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) exit(3);
  file_size = (size_t)status.st_size;
  file = malloc(file_size);
  if (read(fd, file, file_size) != (ssize_t)file_size) exit(3);
  close(fd);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* mode = argv[2];
  const double seconds = argument(argc, argv, 3, 1);
  const bool churns = strcmp(mode, "churn") == 0;
  const int count = strcmp(mode, "many") == 0 ? 300 : 1;
  is_linked = strcmp(mode, "debug_frame") == 0;
  has_frames = strcmp(mode, "none") != 0;
  read_file(argv[1]);
  static struct object objects[300];
  for (int i = 0; i < count; ++i) {
    map_object(&objects[i]);
    make(&objects[i], 1 + i % 2);
    if (has_frames) register_entry(&objects[i].entry);
  }
  int rounds = 0;
  for (; thread_cpu_seconds() < seconds; ++rounds) {
    struct object* object = &objects[rounds % count];
    int number = 1 + rounds % count % 2;
    if (churns) {
      number = 1 + rounds / 64 % 2;
      unregister_entry(&object->entry);
      make(object, number);
      register_entry(&object->entry);
    }
    if (enter_jit(object->run, number, 64 + rounds % 128) == 0) return 1;
  }
  printf("done %d\n", rounds > 0);
  report_rusage();
  return 0;
}
