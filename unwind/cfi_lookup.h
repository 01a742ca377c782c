// Finds the FDE that covers a PC, in one section of call-frame information.
//
// Linkers leave FDEs of discarded functions behind: with an empty range, or
// with the range of the copy that was kept. None of them may hide the real one:
// an FDE counts only if it covers the PC, and of several the one that begins
// last, then the shortest, then the first in the order of the section.

#ifndef UNSPOOL_UNWIND_CFI_LOOKUP_H_
#define UNSPOOL_UNWIND_CFI_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"
#include "unwind/eh_frame_hdr.h"

namespace unspool::unwind {

// An FDE's range and place: what an index, built outside the handler, holds,
// sorted by pc_begin.
struct FdeIndexEntry {
  uint64_t pc_begin = 0;
  uint64_t pc_end = 0;
  uint64_t fde = 0;
};

// One place that unwind data of a module comes from. A module has a list of
// them, tried in order.
struct UnwindSource {
  CfiSection section;
  // At most one of the two; with neither, nothing is found.
  EhFrameHdr hdr;
  std::span<const FdeIndexEntry> index;
};

enum class FdeLookup : uint8_t {
  kFound,
  kNone,  // no FDE covers the PC
  kBad,   // one may, but it is malformed or cannot be read
};

// How far before the place where the PC sorts in FDEs are looked at.
inline constexpr uint64_t kMaxFdesLookedAt = 16;

// Collects the FDE that wins by the rule above.
class BestFde {
 public:
  explicit BestFde(uint64_t pc) : pc_(pc) {}

  void Offer(const Cie& cie, const Fde& fde) {
    if (!fde.Covers(pc_)) return;
    if (found_ && !Beats(fde)) return;
    found_ = true;
    cie_ = cie;
    fde_ = fde;
  }
  bool found() const { return found_; }
  const Cie& cie() const { return cie_; }
  const Fde& fde() const { return fde_; }

 private:
  bool Beats(const Fde& fde) const {
    if (fde.pc_begin != fde_.pc_begin) return fde.pc_begin > fde_.pc_begin;
    if (fde.pc_end != fde_.pc_end) return fde.pc_end < fde_.pc_end;
    return fde.address < fde_.address;
  }

  uint64_t pc_;
  bool found_ = false;
  Cie cie_;
  Fde fde_;
};

// Nearly always the last entry is the FDE, and no other begins where it does.
template <ByteSource Source, class FdeAt>
bool IsOnlyCandidate(Source& source, const CfiSection& section, uint64_t pc,
                     uint64_t count, FdeAt& fde_at, Cie* cie, Fde* fde) {
  if (count < 2) return false;
  const auto last = fde_at(count - 1);
  const auto before = fde_at(count - 2);
  return last && before && ReadFde(source, section, last->fde, cie, fde) &&
         fde->Covers(pc) && before->pc_begin != fde->pc_begin;
}

// Looks the candidates of `pc` up: `count` entries that begin at or below it,
// the last ones first. `fde_at(i)` gives {pc_begin, address of the FDE} of
// entry i, or nullopt.
template <ByteSource Source, class FdeAt>
FdeLookup FindAmong(Source& source, const CfiSection& section, uint64_t pc,
                    uint64_t count, FdeAt&& fde_at, Cie* cie, Fde* fde) {
  if (IsOnlyCandidate(source, section, pc, count, fde_at, cie, fde)) {
    return FdeLookup::kFound;
  }
  BestFde best(pc);
  bool bad = false;
  for (uint64_t i = count; i > 0 && count - i < kMaxFdesLookedAt; --i) {
    const auto candidate = fde_at(i - 1);
    if (!candidate) return FdeLookup::kBad;
    if (best.found() && candidate->pc_begin != best.fde().pc_begin) break;
    if (ReadFde(source, section, candidate->fde, cie, fde)) {
      best.Offer(*cie, *fde);
    } else {
      bad = true;
    }
  }
  if (!best.found()) return bad ? FdeLookup::kBad : FdeLookup::kNone;
  *cie = best.cie();
  *fde = best.fde();
  return FdeLookup::kFound;
}

// lld keeps one entry for each start in its search table, be it that of an
// empty FDE (of a function without code) in front of the one that counts. That
// stands a little behind in the section. `last` is the table's entry for `pc`.
template <ByteSource Source>
FdeLookup FindBehindEmpty(Source& source, const CfiSection& section,
                          uint64_t pc, const EhFrameHdrEntry& last, Cie* cie,
                          Fde* fde) {
  if (!ReadFde(source, section, last.fde, cie, fde) ||
      fde->pc_begin != fde->pc_end) {
    return FdeLookup::kNone;
  }
  CfiEntryCursor cursor(section, last.fde);
  CfiEntry entry;
  for (uint64_t i = 0; i < kMaxFdesLookedAt && cursor.Next(source, &entry);
       ++i) {
    if (entry.kind == CfiEntry::Kind::kFde &&
        ReadFde(source, section, entry.address, cie, fde) && fde->Covers(pc)) {
      return FdeLookup::kFound;
    }
  }
  return FdeLookup::kNone;
}

// Finds the FDE of `pc` by the source's table or index. On kFound fills *cie
// and *fde. Async-signal-safe.
template <ByteSource Source>
FdeLookup FindFde(Source& source, const UnwindSource& unwind_source,
                  uint64_t pc, Cie* cie, Fde* fde) {
  const CfiSection& section = unwind_source.section;
  if (unwind_source.hdr.has_table()) {
    const EhFrameHdr& hdr = unwind_source.hdr;
    auto fde_at = [&](uint64_t i) {
      return ReadEhFrameHdrEntry(source, hdr, i);
    };
    const uint64_t count = CountEntriesUpTo(source, hdr, pc);
    const FdeLookup found =
        FindAmong(source, section, pc, count, fde_at, cie, fde);
    if (found != FdeLookup::kNone || count == 0) return found;
    const auto last = fde_at(count - 1);
    if (!last) return FdeLookup::kBad;
    return FindBehindEmpty(source, section, pc, *last, cie, fde);
  }
  const auto index = unwind_source.index;
  uint64_t low = 0;
  uint64_t high = index.size();
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (index[middle].pc_begin <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  auto fde_at = [&](uint64_t i) {
    return std::optional(EhFrameHdrEntry{index[i].pc_begin, index[i].fde});
  };
  return FindAmong(source, section, pc, low, fde_at, cie, fde);
}

// Finds the FDE of `pc` by going through the whole section: slow, but needs
// neither table nor index. Async-signal-safe, but unbounded time.
template <ByteSource Source>
FdeLookup FindFdeLinear(Source& source, const CfiSection& section, uint64_t pc,
                        Cie* cie, Fde* fde) {
  BestFde best(pc);
  CfiEntryCursor cursor(section);
  CfiEntry entry;
  while (cursor.Next(source, &entry)) {
    if (entry.kind != CfiEntry::Kind::kFde) continue;
    if (ReadFde(source, section, entry.address, cie, fde)) {
      best.Offer(*cie, *fde);
    }
  }
  if (!best.found()) return cursor.ok() ? FdeLookup::kNone : FdeLookup::kBad;
  *cie = best.cie();
  *fde = best.fde();
  return FdeLookup::kFound;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CFI_LOOKUP_H_
