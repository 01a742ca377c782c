#include "unwind/jit_objects.h"

#include <span>

#include "unwind/mapped_memory.h"
#include "unwind/self_memory.h"
#include "unwind/walk_scratch.h"

namespace unspool::unwind {
namespace {

constexpr uint32_t kInterfaceVersion = 1;

template <class T>
bool Copy(uint64_t address, T* value) {
  const std::span bytes(reinterpret_cast<uint8_t*>(value), sizeof(*value));
  return CopyFromSelf(address, bytes) == sizeof(*value);
}

// Has the object at `pc` been checked in this walk? Later modules have ids.
bool IsChecked(uint64_t pc, const WalkScratch& scratch) {
  for (size_t i = 0; i < scratch.checked_count; ++i) {
    const CheckedModule& checked = scratch.checked[i];
    if (checked.id == kNoModule && checked.start <= pc && pc < checked.end) {
      return true;
    }
  }
  return false;
}

void NoteChecked(uint64_t pc, WalkScratch& scratch) {
  if (scratch.checked_count == WalkScratch::kMaxCheckedModules) return;
  scratch.checked[scratch.checked_count++] = {pc, pc + 1, kNoModule};
}

}  // namespace

void JitObjects::AddDescriptor(uint64_t address, RegisteredCode& code) {
  code.Lock();
  if (tables_ == nullptr) {
    tables_ = static_cast<Tables*>(MapZeroed(sizeof(Tables)));
  }
  const uint32_t count = list_count_.load(std::memory_order_relaxed);
  bool is_known = tables_ == nullptr;
  for (const List& list : std::span(lists_).first(count)) {
    if (list.head_address == address) is_known = true;
  }
  if (!is_known) {
    List& list = lists_[next_list_++ % kMaxDescriptors];
    list = List();
    list.head_address = address;
    if (count < kMaxDescriptors) {
      list_count_.store(count + 1, std::memory_order_release);
    }
  }
  code.Unlock();
}

bool JitObjects::Register(uint64_t pc, RegisteredCode& code,
                          WalkScratch& scratch) {
  if (list_count_.load(std::memory_order_acquire) == 0) return true;
  const State state = Check(pc, scratch);
  if (state == State::kIsThere && code.IsKnown(pc)) return true;
  if (!code.TryLock()) return state != State::kIsGone;
  if (state == State::kIsGone) Drop(pc, code);
  if (state != State::kIsThere) LookAtLists(code, scratch);
  const bool is_there = Check(pc, scratch) == State::kIsThere;
  if (is_there) RegisterFunction(pc, code, scratch);
  code.Unlock();
  return is_there || state == State::kNone;
}

JitObjects::State JitObjects::Check(uint64_t pc, WalkScratch& scratch) const {
  const uint32_t number = tables_->code.Find(pc);
  if (number == 0) return State::kNone;
  if (IsChecked(pc, scratch)) return State::kIsThere;
  if (!IsUnchanged(ObjectOf(number), scratch)) return State::kIsGone;
  NoteChecked(pc, scratch);
  return State::kIsThere;
}

// I2.
bool JitObjects::IsUnchanged(const Object& object, WalkScratch& scratch) {
  Entry entry;
  return Copy(object.entry_address, &entry) && entry.image == object.image &&
         entry.size == object.size &&
         object.imprint.HashNow(scratch.window) == object.imprint.hash;
}

// Its list may look as it did: all lists are gone through again.
void JitObjects::Drop(uint64_t pc, RegisteredCode& code) {
  const uint32_t number = tables_->code.Find(pc);
  const Code& gone = tables_->codes[number];
  code.Forget(gone.start, gone.end);
  tables_->entries.Remove(gone.entry);
  tables_->code.Remove(number);
  for (List& list : lists_) list.is_new = true;
}

void JitObjects::LookAtLists(RegisteredCode& code, WalkScratch& scratch) {
  const uint32_t count = list_count_.load(std::memory_order_relaxed);
  for (List& list : std::span(lists_).first(count)) {
    LookAtList(list, code, scratch);
  }
}

// Entries that are not linked as they should be end the way through: the list
// is being changed, and will be found changed.
void JitObjects::LookAtList(List& list, RegisteredCode& code,
                            WalkScratch& scratch) {
  Head head;
  if (!Copy(list.head_address, &head) || head.version != kInterfaceVersion) {
    return;
  }
  uint32_t steps = 0;
  Entry entry;
  if (head != list.seen) {
    list.seen = head;
    list.is_new = true;
    // The newest, wherever in the list it is.
    if (Copy(head.relevant_entry, &entry)) {
      steps += NoteEntry(head.relevant_entry, entry, code, scratch);
    }
  }
  if (list.cursor == 0 && list.is_new) {
    list.is_new = false;
    list.cursor = head.first_entry;
    list.previous = 0;
  }
  while (list.cursor != 0 && steps < kStepsPerWalk) {
    if (!Copy(list.cursor, &entry) || entry.previous != list.previous) {
      list.cursor = 0;
      break;
    }
    steps += NoteEntry(list.cursor, entry, code, scratch);
    list.previous = list.cursor;
    list.cursor = entry.next;
  }
}

// Notes where the code of a new entry is. What was registered there before is
// of something that is gone. Returns the steps that it took.
uint32_t JitObjects::NoteEntry(uint64_t address, const Entry& entry,
                               RegisteredCode& code, WalkScratch& scratch) {
  const uint32_t known = tables_->entries.Find(address);
  if (known != 0 && tables_->entry_objects[known].image == entry.image &&
      tables_->entry_objects[known].size == entry.size) {
    return 1;
  }
  if (tables_->entries.is_full() || address + sizeof(Entry) < address) return 1;
  const uint32_t number = tables_->entries.next();
  Object& object = tables_->entry_objects[number];
  object = {address, entry.image, entry.size, {}};
  JitImage image(entry.image, entry.size, scratch.window);
  const bool is_image = image.Open();
  if (is_image) object.imprint = image.Imprint();
  tables_->entries.Add(address, address + sizeof(Entry));
  if (!is_image) return kStepsOfNewEntry;
  image.ForEachCode([&](uint64_t start, uint64_t end) {
    if (tables_->code.is_full()) return;
    code.Forget(start, end);
    tables_->codes[tables_->code.next()] = {start, end, number};  // I1
    tables_->code.Add(start, end);
  });
  return kStepsOfNewEntry;
}

void JitObjects::RegisterFunction(uint64_t pc, RegisteredCode& code,
                                  WalkScratch& scratch) {
  const Object& object = ObjectOf(tables_->code.Find(pc));
  JitImage image(object.image, object.size, scratch.window);
  if (!image.Open()) return;
  if (!code.KnowsFrames(pc)) {
    CfiSection section;
    Fde fde;
    if (!image.FindFde(pc, &section, &fde)) {
      section = {};  // not to be looked for again
      fde.pc_begin = pc;
      fde.pc_end = pc + 1;
    }
    code.AddFunction(section, fde);
  }
  if (code.FindCode(pc) != kNoModule) return;
  JitImage::Function function = {pc, 1, 0};
  image.FindFunction(pc, &function);
  const auto name = std::span(scratch.window).first(kMaxNameBytes);
  const size_t size = CopyFromSelf(function.name, name);
  name[size < name.size() ? size : size - 1] = '\0';
  const char* text = reinterpret_cast<const char*>(name.data());
  // Full: it stays unnamed.
  (void)code.AddCode(function.start, function.size,
                     *text == '\0' ? "[jit]" : text);
}

}  // namespace unspool::unwind
