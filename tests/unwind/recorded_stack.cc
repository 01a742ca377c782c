#include "tests/unwind/recorded_stack.h"

#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/unwind/self_walk.h"

namespace unspool::unwind {
namespace {

RecordedStack* recording = nullptr;
uint64_t recording_end = 0;

// Byte by byte: sanitizers watch memcpy(). Allocates nothing.
UNSPOOL_READS_RAW_STACK void CopyRaw(uint64_t from, std::vector<uint8_t>* to) {
  const auto* bytes = reinterpret_cast<const volatile uint8_t*>(from);
  uint8_t* out = to->data();
  for (size_t i = 0; i < to->size(); ++i) out[i] = bytes[i];
}

// `bytes` has room for all of the stack.
void OnTrap(int, siginfo_t*, void* context_pointer) {
  auto* context = static_cast<ucontext_t*>(context_pointer);
  recording->registers = Registers::FromUcontext(*context);
  recording->start = recording->registers.sp();
  recording->bytes.resize(recording_end - recording->start);
  CopyRaw(recording->start, &recording->bytes);
  context->uc_mcontext.gregs[REG_RIP] += 2;  // behind the ud2
}

void RunRecording(const std::function<void()>& body) {
  const StackBounds bounds = OwnStack();
  recording_end = bounds.high;
  recording->bytes.reserve(bounds.high - bounds.low);
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
  body();
  sigaction(SIGILL, &before, nullptr);
}

}  // namespace

RecordedStack RecordAtTrap(const std::function<void()>& body) {
  RecordedStack result;
  recording = &result;
  std::thread([&] { RunRecording(body); }).join();
  if (result.bytes.empty()) std::abort();
  return result;
}

bool FaultyMemory::Read(uint64_t address, size_t size, uint64_t* value) {
  const size_t number = reads_++;
  *value = 0;
  if (number == faults_.first ||
      (faults_.all_later && number > faults_.first)) {
    return false;
  }
  const uint64_t offset = address - stack_.start;
  if (offset >= stack_.bytes.size()) return memory_.Read(address, size, value);
  if (size > stack_.bytes.size() - offset) return false;
  std::memcpy(value, &stack_.bytes[offset], size);
  return true;
}

}  // namespace unspool::unwind
