// The C API for code that is made while the program runs.

#include <errno.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <span>

#include "profiler/agent/export.h"
#include "profiler/agent/session.h"
#include "profiler/include/unspool/unspool.h"
#include "unwind/jit_image.h"
#include "unwind/registered_code.h"
#include "unwind/self_memory.h"

namespace unspool::profiler {
namespace {

using unwind::RegisteredCode;

int ErrorOf(RegisteredCode::Status status) {
  switch (status) {
    case RegisteredCode::Status::kOk:
      return 0;
    case RegisteredCode::Status::kNoMemory:
      return -ENOMEM;
    case RegisteredCode::Status::kFull:
      return -ENOSPC;
    case RegisteredCode::Status::kBad:
      return -EINVAL;
  }
  return -EINVAL;
}

// Lock and signals: see RegisteredCode.
class RegistrationLock {
 public:
  explicit RegistrationLock(RegisteredCode& code) : code_(code) {
    code_.Lock();
  }
  ~RegistrationLock() { code_.Unlock(); }
  RegistrationLock(const RegistrationLock&) = delete;
  RegistrationLock& operator=(const RegistrationLock&) = delete;

 private:
  const collectors::SignalBlock signals_;
  RegisteredCode& code_;
};

// Not before something is registered. A lock that another thread held in the
// parent is free in the child.
void MendLockAfterFork() {
  static constinit std::atomic<bool> is_asked{false};
  if (is_asked.exchange(true)) return;
  pthread_atfork(nullptr, nullptr,
                 [] { GetSession().unwinder().registered_code().Unlock(); });
}

// A wrong pointer or size must not end the program.
bool IsReadable(uint64_t address, uint64_t size) {
  std::array<uint8_t, unwind::kPageSize> copy;
  while (size != 0) {
    const size_t part = size < copy.size() ? size : copy.size();
    if (unwind::CopyFromSelf(address, std::span(copy).first(part)) != part) {
      return false;
    }
    address += part;
    size -= part;
  }
  return true;
}

// Of the .eh_frame at `start`; as far as it can be read.
uint64_t SizeUpToTerminator(uint64_t start) {
  constexpr uint64_t kMaxSize = uint64_t{64} << 20;
  std::array<uint8_t, unwind::kMinWindowSize> buffer;
  unwind::CopyWindow copy(buffer);
  unwind::CfiSection section;
  section.address = start;
  section.size = kMaxSize;
  unwind::CfiEntryCursor cursor(section);
  unwind::CfiEntry entry;
  uint64_t end = start;
  while (cursor.Next(copy, &entry)) end = entry.end();
  return end - start;
}

bool IsKnownKind(int kind) {
  return kind == UNSPOOL_FRAMES_EH_FRAME || kind == UNSPOOL_FRAMES_DEBUG_FRAME;
}

}  // namespace

int Session::RegisterCode(uint64_t start, uint64_t size, const char* name) {
  MendLockAfterFork();
  const RegistrationLock lock(unwinder_.registered_code());
  return ErrorOf(unwinder_.registered_code().AddCode(start, size, name));
}

int Session::RegisterFrames(const unwind::CfiSection& section) {
  if (section.address + section.size < section.address) return -EINVAL;
  if (!IsReadable(section.address, section.size)) return -EFAULT;
  MendLockAfterFork();
  const RegistrationLock lock(unwinder_.registered_code());
  uint32_t handle = 0;
  const int error =
      ErrorOf(unwinder_.registered_code().AddFrames(section, &handle));
  return error != 0 ? error : static_cast<int>(handle);
}

int Session::UnregisterFrames(uint32_t handle) {
  const RegistrationLock lock(unwinder_.registered_code());
  return unwinder_.registered_code().RemoveFrames(handle) ? 0 : -EINVAL;
}

void Session::NoteFrames(uint64_t start) {
  if (!is_running()) return;
  unwind::CfiSection section;
  section.address = start;
  section.size = SizeUpToTerminator(start);
  const int handle = RegisterFrames(section);
  if (handle <= 0) return;
  const RegistrationLock lock(unwinder_.registered_code());
  unwinder_.registered_code().NoteSection(section,
                                          static_cast<uint32_t>(handle));
}

void Session::ForgetFrames(uint64_t start) {
  const RegistrationLock lock(unwinder_.registered_code());
  unwinder_.registered_code().RemoveSection(start);
}

}  // namespace unspool::profiler

using unspool::profiler::GetSession;

UNSPOOL_EXPORT int unspool_register_code(const void* start, size_t size,
                                         const char* name) {
  if (name == nullptr || *name == '\0') return -EINVAL;
  return GetSession().RegisterCode(reinterpret_cast<uint64_t>(start), size,
                                   name);
}

UNSPOOL_EXPORT int unspool_register_frames(const void* data, size_t size,
                                           int kind) {
  if (data == nullptr || !unspool::profiler::IsKnownKind(kind)) return -EINVAL;
  unspool::unwind::CfiSection section;
  if (kind == UNSPOOL_FRAMES_DEBUG_FRAME) {
    section.format = unspool::unwind::CfiFormat::kDebugFrame;
  }
  section.address = reinterpret_cast<uint64_t>(data);
  section.size = size;
  return GetSession().RegisterFrames(section);
}

UNSPOOL_EXPORT int unspool_unregister_frames(int handle) {
  if (handle <= 0) return -EINVAL;
  return GetSession().UnregisterFrames(static_cast<uint32_t>(handle));
}
