#include "unwind/dynamic_symbol.h"

#include <elf.h>

#include <cstring>
#include <span>

namespace unspool::unwind {
namespace {

// What the dynamic section points at.
struct Tables {
  const uint32_t* hash = nullptr;
  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
};

// glibc relocates these pointers in place, but in the vDSO.
template <class T>
const T* Pointer(const Elf64_Dyn& entry, uint64_t bias) {
  uint64_t address = entry.d_un.d_ptr;
  if (address < bias) address += bias;
  return reinterpret_cast<const T*>(address);
}

Tables FindTables(const dl_phdr_info& info) {
  Tables tables;
  const uint64_t bias = info.dlpi_addr;
  for (const Elf64_Phdr& header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    if (header.p_type != PT_DYNAMIC) continue;
    auto* entry = reinterpret_cast<const Elf64_Dyn*>(bias + header.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_GNU_HASH) {
        tables.hash = Pointer<uint32_t>(*entry, bias);
      } else if (entry->d_tag == DT_SYMTAB) {
        tables.symbols = Pointer<Elf64_Sym>(*entry, bias);
      } else if (entry->d_tag == DT_STRTAB) {
        tables.strings = Pointer<char>(*entry, bias);
      }
    }
  }
  return tables;
}

uint32_t HashName(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) {
    hash = hash * 33 + static_cast<unsigned char>(*name);
  }
  return hash;
}

// Bloom filter, then buckets, then a chain of hashes whose last one is odd.
const Elf64_Sym* FindSymbol(const Tables& tables, const char* name) {
  const uint32_t bucket_count = tables.hash[0];
  const uint32_t first_symbol = tables.hash[1];
  const uint32_t bloom_words = tables.hash[2];
  const uint32_t bloom_shift = tables.hash[3];
  const auto* bloom = reinterpret_cast<const uint64_t*>(&tables.hash[4]);
  const auto* buckets = reinterpret_cast<const uint32_t*>(bloom + bloom_words);
  const uint32_t* chain = buckets + bucket_count;
  if (bucket_count == 0 || bloom_words == 0) return nullptr;
  const uint32_t hash = HashName(name);
  const uint64_t word = bloom[hash / 64 % bloom_words];
  if ((word >> hash % 64 & word >> (hash >> bloom_shift) % 64 & 1) == 0) {
    return nullptr;
  }
  uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const uint32_t other = chain[index - first_symbol];
    const Elf64_Sym& symbol = tables.symbols[index];
    if ((other | 1) == (hash | 1) &&
        std::strcmp(tables.strings + symbol.st_name, name) == 0) {
      return &symbol;
    }
    if ((other & 1) != 0) return nullptr;
  }
}

}  // namespace

uint64_t FindDynamicSymbol(const dl_phdr_info& info, const char* name,
                           unsigned type) {
  const Tables tables = FindTables(info);
  if (tables.hash == nullptr || tables.symbols == nullptr ||
      tables.strings == nullptr) {
    return 0;
  }
  const Elf64_Sym* symbol = FindSymbol(tables, name);
  if (symbol == nullptr || symbol->st_shndx == SHN_UNDEF ||
      ELF64_ST_TYPE(symbol->st_info) != type) {
    return 0;
  }
  return info.dlpi_addr + symbol->st_value;
}

}  // namespace unspool::unwind
