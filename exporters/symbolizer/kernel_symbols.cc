#include "exporters/symbolizer/kernel_symbols.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <tuple>

#include "unwind/load/debug_link.h"
#include "unwind/load/elf_note.h"

namespace unspool::exporters {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string BuildIdOf(std::string_view notes) {
  const auto bytes =
      std::span(reinterpret_cast<const uint8_t*>(notes.data()), notes.size());
  const auto found = unwind::FindNote(bytes, 4, "GNU", NT_GNU_BUILD_ID);
  unwind::BuildId id;
  if (!found || found->size() > id.bytes.size()) return "";
  id.size = static_cast<uint8_t>(found->size());
  std::ranges::copy(*found, id.bytes.begin());
  return unwind::ToText(id).text;
}

// Global before weak before local, then the shortest, then the first.
auto AliasOrder(char type, const std::string& name) {
  constexpr std::string_view kRanks = "TW";
  return std::tuple(kRanks.find(type), name.size(), std::string_view(name));
}

}  // namespace

bool IsKernelPath(std::string_view path) {
  return path.starts_with("[kernel.kallsyms]");
}

absl::Status KernelSymbols::Load(std::string_view build_id, uint64_t start,
                                 const std::string& symbols,
                                 const std::string& notes) {
  if (build_id.empty() || build_id != BuildIdOf(ReadAll(notes))) {
    return absl::NotFoundError("is not the kernel that runs here");
  }
  Parse(ReadAll(symbols));
  const auto find = [this](uint64_t address, std::string_view name) {
    return std::ranges::find_if(symbols_, [&](const Symbol& symbol) {
      return (address == 0 || symbol.address == address) && symbol.name == name;
    });
  };
  const auto end = find(0, "_etext");
  absl::Status status;
  if (end == symbols_.end() || end->address == 0) {
    status = absl::PermissionDeniedError(
        "/proc/kallsyms tells no addresses; it tells them to root");
  } else if (find(start, "_text") == symbols_.end() &&
             find(start, "_stext") == symbols_.end()) {
    status = absl::NotFoundError("was elsewhere in memory, before a restart");
  }
  if (status.ok()) {
    KeepText(start, end->address);
  } else {
    symbols_.clear();
  }
  return status;
}

// Lines "ffffffff81000000 T _text", and "\t[module]" behind a module's.
void KernelSymbols::Parse(std::string_view text) {
  constexpr std::string_view kCode = "TtWw";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    Symbol symbol{};
    const auto [rest, error] = std::from_chars(
        line.data(), line.data() + line.size(), symbol.address, 16);
    const size_t type = static_cast<size_t>(rest - line.data()) + 1;
    if (error != std::errc() || type + 2 >= line.size() ||
        kCode.find(line[type]) == kCode.npos || line.ends_with(']')) {
      continue;
    }
    symbol.type = line[type];
    symbol.name = line.substr(type + 2);
    symbols_.push_back(std::move(symbol));
  }
}

// What lies in [start, end), each address once, and a nameless end.
void KernelSymbols::KeepText(uint64_t start, uint64_t end) {
  std::erase_if(symbols_, [&](const Symbol& symbol) {
    return symbol.address < start || symbol.address >= end;
  });
  symbols_.push_back({end, 'T', ""});
  std::ranges::sort(symbols_, [](const Symbol& a, const Symbol& b) {
    if (a.address != b.address) return a.address < b.address;
    return AliasOrder(a.type, a.name) < AliasOrder(b.type, b.name);
  });
  const auto same = [](const Symbol& a, const Symbol& b) {
    return a.address == b.address;
  };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same),
                 symbols_.end());
}

std::string_view KernelSymbols::Find(uint64_t address) const {
  const auto next =
      std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  return next == symbols_.begin() ? std::string_view() : next[-1].name;
}

}  // namespace unspool::exporters
