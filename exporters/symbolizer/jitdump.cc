#include "exporters/symbolizer/jitdump.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace unspool::exporters {
namespace {

constexpr uint32_t kMagic = 0x4a695444;  // "JiTD"
constexpr size_t kMaxFunctions = size_t{1} << 20;
constexpr uint64_t kMaxRecords = uint64_t{1} << 24;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxLineTableBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{256} << 20;  // of all tables

enum RecordId : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2, kClose = 3 };

struct FileHeader {
  uint32_t magic, version, total_size, elf_machine, pad, pid;
  uint64_t timestamp, flags;
};
struct RecordHeader {
  uint32_t id, total_size;
  uint64_t timestamp;
};
struct LoadRecord {
  uint32_t pid, tid;
  uint64_t vma, code_address, code_size, code_index;
};
struct MoveRecord {
  uint32_t pid, tid;
  uint64_t vma, old_address, new_address, code_size, code_index;
};
struct DebugRecord {
  uint64_t code_address, entry_count;
};
struct DebugEntry {
  uint64_t address;
  uint32_t line, column;
};

// V8 is known by what it puts into the padding. It adds the size of an ELF
// header to the addresses of lines, because perf once took that off
// (nodejs/node, deps/v8/src/diagnostics/perf-jit.cc).
constexpr uint32_t kV8Pad = 0xdeadbeef;
constexpr uint64_t kV8LineOffset = sizeof(Elf64_Ehdr);

template <typename T>
std::optional<T> Get(JitFile& file, uint64_t offset) {
  const std::string_view bytes = file.Read(offset, sizeof(T));
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// Code that was at an address; records by their offset in the file.
struct CodePlace {
  uint64_t address;
  uint64_t size;
  uint64_t load;
  uint64_t debug_info;  // 0: none
};

bool IsFileName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::ranges::all_of(text, [](char c) {
           return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
         });
}

// The lines of a function, in the order of its code.
struct LineTable {
  struct Line {
    uint64_t offset;  // from the first byte of the code
    uint32_t number;
    std::string_view file;  // in `bytes`
  };
  std::string bytes;
  std::vector<Line> lines;

  void SetLine(uint64_t offset, NamedFrame* frame) const {
    const auto next =
        std::ranges::upper_bound(lines, offset, {}, &Line::offset);
    if (next == lines.begin()) return;
    frame->file = std::prev(next)->file;
    frame->line = std::prev(next)->number;
  }
};

class Reader {
 public:
  Reader(JitFile& file, JitAddresses* addresses)
      : file_(file), addresses_(addresses) {}

  absl::Status Run(int64_t pid) {
    const auto header = Get<FileHeader>(file_, 0);
    if (!header || header->magic != kMagic) {
      return absl::InvalidArgumentError("is no jitdump of this machine");
    }
    if (header->version != 1 || header->total_size < sizeof(FileHeader)) {
      return absl::InvalidArgumentError("is a jitdump of another version");
    }
    if (header->elf_machine != EM_X86_64 || header->pid != pid) {
      return absl::InvalidArgumentError(
          "is the jitdump of another machine or process");
    }
    line_offset_ = header->pad == kV8Pad ? kV8LineOffset : 0;
    absl::Status status = CollectPlaces(header->total_size);
    for (size_t i = places_.size(); i-- > 0;) NamePlace(places_[i]);
    return status;
  }

 private:
  absl::Status CollectPlaces(uint64_t offset) {
    uint64_t debug_info = 0;  // of the next load
    for (uint64_t i = 0; i < kMaxRecords; ++i) {
      const auto record = Get<RecordHeader>(file_, offset);
      // The last record may be one that is being written.
      if (!record || record->id == kClose) return absl::OkStatus();
      if (record->total_size < sizeof(RecordHeader)) {
        return absl::InvalidArgumentError(
            "is damaged: a record is shorter than its header");
      }
      const uint64_t body = offset + sizeof(RecordHeader);
      if (record->id == kDebugInfo) debug_info = body;
      if (record->id == kLoad) {
        AddLoad(body, debug_info);
        debug_info = 0;
      }
      if (record->id == kMove) AddMove(body);
      if (loads_.size() > kMaxFunctions || places_.size() > kMaxFunctions) {
        break;
      }
      offset += record->total_size;
    }
    return absl::ResourceExhaustedError(
        "has more functions than are read, a million");
  }

  void AddLoad(uint64_t body, uint64_t debug_info) {
    const auto load = Get<LoadRecord>(file_, body);
    if (!load) return;
    const CodePlace place = {.address = load->code_address,
                             .size = load->code_size,
                             .load = body,
                             .debug_info = debug_info};
    loads_[load->code_index] = place;
    AddPlace(place);
  }

  void AddMove(uint64_t body) {
    const auto move = Get<MoveRecord>(file_, body);
    if (!move) return;
    const auto load = loads_.find(move->code_index);
    if (load == loads_.end()) return;
    CodePlace place = load->second;
    place.address = move->new_address;
    AddPlace(place);
  }

  void AddPlace(const CodePlace& place) {
    if (addresses_->IsWanted(place.address, place.size)) {
      places_.push_back(place);
    }
  }

  void NamePlace(const CodePlace& place) {
    if (!addresses_->IsWanted(place.address, place.size)) return;
    const std::string_view bytes =
        file_.Read(place.load, sizeof(LoadRecord) + kMaxNameBytes);
    if (bytes.size() < sizeof(LoadRecord)) return;
    LoadRecord load;
    memcpy(&load, bytes.data(), sizeof(load));
    std::string_view name = bytes.substr(sizeof(load));
    name = name.substr(0, name.find('\0'));
    // Without a name it is not what was there before it.
    NamedFrame function;
    function.name = name.empty() ? "[jit]" : name;
    function.system_name = SystemNameOf(function.name);
    const LineTable table = ReadLines(place, load);
    addresses_->Name(place.address, place.size, [&](uint64_t address) {
      NamedFrame frame = function;
      table.SetLine(address - place.address, &frame);
      return frame;
    });
  }

  // Without lines if there are none that make sense.
  LineTable ReadLines(const CodePlace& place, const LoadRecord& load) {
    LineTable table;
    if (place.debug_info == 0) return table;
    const auto header =
        Get<RecordHeader>(file_, place.debug_info - sizeof(RecordHeader));
    const auto info = Get<DebugRecord>(file_, place.debug_info);
    if (!header || !info || info->code_address != load.code_address) {
      return table;
    }
    const size_t size = header->total_size - sizeof(RecordHeader);
    if (size > kMaxLineTableBytes || size > line_bytes_left_) return table;
    line_bytes_left_ -= size;
    table.bytes = file_.Read(place.debug_info, size);
    if (!ParseLines(load, info->entry_count, &table)) table.lines.clear();
    std::ranges::stable_sort(table.lines, {}, &LineTable::Line::offset);
    return table;
  }

  bool ParseLines(const LoadRecord& load, uint64_t count,
                  LineTable* table) const {
    std::string_view rest = table->bytes;
    rest.remove_prefix(std::min(rest.size(), sizeof(DebugRecord)));
    for (uint64_t i = 0; i < count; ++i) {
      DebugEntry entry;
      const size_t end = rest.find('\0', sizeof(entry));
      if (end == rest.npos) return false;
      memcpy(&entry, rest.data(), sizeof(entry));
      std::string_view file = rest.substr(sizeof(entry), end - sizeof(entry));
      rest.remove_prefix(end + 1);
      // The byte 0xff stands for the name before.
      if (file == "\xff" && i > 0) file = table->lines.back().file;
      const uint64_t offset = entry.address - line_offset_ - load.code_address;
      if (offset > load.code_size || !IsFileName(file)) return false;
      table->lines.push_back(
          {.offset = offset, .number = entry.line, .file = file});
    }
    return true;
  }

  JitFile& file_;
  JitAddresses* const addresses_;
  uint64_t line_offset_ = 0;
  size_t line_bytes_left_ = kMaxLineBytes;
  std::vector<CodePlace> places_;                   // in the order of time
  absl::flat_hash_map<uint64_t, CodePlace> loads_;  // by code index
};

}  // namespace

absl::Status ReadJitdump(JitFile& file, int64_t pid, JitAddresses* addresses) {
  return Reader(file, addresses).Run(pid);
}

}  // namespace unspool::exporters
