// The memory and modules of the process that is stepped through.

#ifndef UNSPOOL_TESTS_ORACLE_TARGET_H_
#define UNSPOOL_TESTS_ORACLE_TARGET_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "unwind/elf_module.h"
#include "unwind/self_unwinder.h"

namespace unspool::oracle {

// Bytes of a module by run-time address: a ByteSource over its file, or over a
// copy of the vDSO.
class ModuleBytes {
 public:
  void Add(uint64_t address, std::span<const uint8_t> bytes) {
    pieces_.push_back({address, bytes});
  }
  std::span<const uint8_t> Window(uint64_t address, size_t size) const;

 private:
  struct Piece {
    uint64_t address;
    std::span<const uint8_t> bytes;
  };
  std::vector<Piece> pieces_;
};

struct TargetModule {
  unwind::ModuleId id = 0;  // no other module of the target has it
  std::string path;
  std::vector<uint8_t> file;
  ModuleBytes bytes;
  unwind::LoadedModule loaded;
};

// What /proc/PID/maps says of one mapping.
struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  bool is_writable = false;
  std::string path;
};

class Target {
 public:
  explicit Target(pid_t pid) : pid_(pid) {}

  pid_t pid() const { return pid_; }

  // How many bytes from `address` on could be read.
  size_t Read(uint64_t address, void* out, size_t size) const;
  bool Write(uint64_t address, const void* bytes, size_t size) const;
  uint64_t ReadWord(uint64_t address) const;

  // Reads /proc/PID/maps again; for when the program has mapped or unmapped.
  void ReadMaps();
  const std::vector<Mapping>& mappings() const { return mappings_; }
  // The mapping that has `address`; nullptr if none does.
  const Mapping* FindMapping(uint64_t address) const;
  // The module; nullptr if there is none.
  const TargetModule* FindModule(uint64_t pc) const;

 private:
  void AddModule(const Mapping& first);
  std::vector<uint8_t> ReadImage(const Mapping& mapping) const;

  pid_t pid_;
  unwind::ModuleId next_id_ = 0;
  std::vector<Mapping> mappings_;
  // By start. Modules stay what they are while their mapping does.
  std::map<uint64_t, std::unique_ptr<TargetModule>> modules_;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_TARGET_H_
